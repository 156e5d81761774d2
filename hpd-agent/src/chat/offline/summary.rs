//! The most central sentences of a text.

use std::collections::{HashMap, HashSet};

use super::document::{Document, Sentence};

/// Longer sentences are cut, in characters.
const LONGEST: usize = 300;

/// Longer English words that say nothing about what a text is about. Latin words of up to three letters don't either.
const EMPTY: [&str; 56] = [
    "about", "after", "also", "always", "another", "because", "been", "before", "being", "between", "both", "cannot",
    "could", "does", "done", "each", "even", "every", "from", "have", "here", "however", "into", "itself", "just",
    "like", "made", "make", "many", "more", "most", "must", "only", "other", "over", "same", "should", "since", "some",
    "such", "than", "that", "their", "them", "then", "there", "these", "they", "this", "those", "very", "were",
    "which", "will", "with", "would",
];

/// Up to `count` sentences as bullets, in the order of the text: those whose words the text uses most. What a chosen
/// sentence has said counts less for the next one, so that the bullets don't say the same thing. Fragments such as titles
/// are taken only from a text that has nothing else.
pub(super) fn summarize(document: &Document, count: usize) -> String {
    let candidates: Vec<Candidate<'_>> = document.sentences.iter().enumerate().map(Candidate::new).collect();
    let mut weights: HashMap<&str, f64> = HashMap::new();
    for word in candidates.iter().flat_map(|candidate| &candidate.words) {
        *weights.entry(word).or_default() += 1.0;
    }
    let mut left: Vec<&Candidate<'_>> = candidates.iter().filter(|candidate| candidate.sentence.is_whole()).collect();
    if left.is_empty() {
        left = candidates.iter().filter(|candidate| !candidate.introduces()).collect();
    }
    if left.is_empty() {
        left = candidates.iter().collect();
    }
    let first = left.first().map(|candidate| candidate.index);
    let mut seen = HashSet::new();
    left.retain(|candidate| seen.insert(&candidate.sentence.text));
    let mut chosen: Vec<&Candidate<'_>> = Vec::new();
    while chosen.len() < count {
        let best = left.iter().enumerate().map(|(at, candidate)| (at, candidate.score(&weights, first)));
        // The first one of equals.
        let best = best.reduce(|best, next| if next.1 > best.1 { next } else { best });
        let Some((at, _)) = best else {
            break;
        };
        let candidate = left.remove(at);
        for word in &candidate.words {
            weights.entry(word).and_modify(|weight| *weight *= 0.6);
        }
        chosen.push(candidate);
    }
    chosen.sort_by_key(|candidate| candidate.index);
    let bullets: Vec<_> = chosen.iter().map(|candidate| format!("- {}", shortened(&candidate.sentence.text))).collect();
    bullets.join("\n")
}

struct Candidate<'a> {
    index: usize,
    sentence: &'a Sentence,
    /// The words that count, each once, sorted.
    words: Vec<&'a str>,
}

impl<'a> Candidate<'a> {
    fn new((index, sentence): (usize, &'a Sentence)) -> Self {
        let mut words: Vec<&str> =
            sentence.words.iter().filter(|word| says_something(word)).map(|word| stem(word)).collect();
        words.sort_unstable();
        words.dedup();
        Self { index, sentence, words }
    }

    /// Whether it only leads to what follows, like "Summarize this text:".
    fn introduces(&self) -> bool {
        self.sentence.text.ends_with([':', '：'])
    }

    fn score(&self, weights: &HashMap<&str, f64>, first: Option<usize>) -> f64 {
        // A word that no other sentence uses says little about the text.
        let worth = |word: &&str| weights.get(word).copied().unwrap_or_default().max(1.0).ln() + 0.1;
        let sum: f64 = self.words.iter().map(worth).sum();
        let length = self.sentence.words.len();
        // Between an average, which favours the short ones, and a sum, which favours the long ones.
        let score = sum / (length as f64).sqrt();
        let too_short = if length < 5 { 0.6 } else { 1.0 };
        let first = if first == Some(self.index) { 1.15 } else { 1.0 };
        score * too_short * first
    }
}

fn says_something(word: &str) -> bool {
    // Other scripts need fewer characters for a word.
    let short = word.len() <= 3 && word.bytes().all(|byte| byte.is_ascii_alphabetic());
    !short && !EMPTY.contains(&word)
}

/// The plural counts as the singular, in the languages where that is so simple.
fn stem(word: &str) -> &str {
    match word.strip_suffix('s') {
        Some(stem) if word.len() > 4 && word.is_ascii() && !stem.ends_with(['s', 'u', 'i']) => stem,
        _ => word,
    }
}

fn shortened(text: &str) -> String {
    let head: String = text.chars().take(LONGEST).collect();
    if head.len() == text.len() {
        return head;
    }
    let whole = head.rfind(char::is_whitespace).and_then(|at| head.get(..at)).unwrap_or(&head);
    format!("{} …", whole.trim_end())
}

#[cfg(test)]
mod tests {
    use super::*;

    fn summary(text: &str) -> Vec<String> {
        summarize(&Document::parse(text), 3).lines().map(str::to_owned).collect()
    }

    #[test]
    fn takes_what_the_text_is_about() {
        let text = "Summarize this text:\n\n\
            The scheduler assigns tasks to workers. Lunch was good. \
            When a worker fails, the scheduler assigns its tasks to other workers. \
            Rain is expected. \
            Workers report finished tasks to the scheduler. \
            My neighbour owns a bicycle.";
        let expected = [
            "- The scheduler assigns tasks to workers.",
            "- When a worker fails, the scheduler assigns its tasks to other workers.",
            "- Workers report finished tasks to the scheduler.",
        ];
        assert_eq!(summary(text), expected);
    }

    #[test]
    fn says_nothing_twice() {
        let text = "Storage grows every week. Storage grows every week. Storage grows every week. Backups fail at night. \
            Nobody reads the alerts about backups.";
        assert_eq!(
            summary(text),
            ["- Storage grows every week.", "- Backups fail at night.", "- Nobody reads the alerts about backups."]
        );
    }

    #[test]
    fn fragments_are_no_bullets() {
        let text = "The scheduler of tasks\n\nThe scheduler gives tasks to workers. Lunch was good. When a worker asks, \
            the scheduler of tasks\n\n- looks for tasks,\n- gives the tasks to workers of the scheduler.\n\n\
            Scheduler, tasks and workers:\n\n    scheduler.tasks(workers);\n\nWorkers report.";
        let expected = ["- The scheduler gives tasks to workers.", "- Lunch was good.", "- Workers report."];
        assert_eq!(summary(text), expected);
        assert_eq!(summary("# Tasks\n\n- wash up\n- cook"), ["- wash up", "- cook"]);
    }

    #[test]
    fn short_texts_stay_whole() {
        assert_eq!(summary("One thing. Another thing."), ["- One thing.", "- Another thing."]);
        assert_eq!(summary("Only this:"), ["- Only this:"]);
        assert!(summary("").is_empty());
    }

    #[test]
    fn long_sentences_are_cut_between_words() {
        let long = "word ".repeat(200);
        let bullet = &summary(&long)[0];
        assert!(bullet.ends_with("word …") && bullet.chars().count() <= LONGEST + 4, "{bullet}");
        let unspaced = summary(&"文".repeat(400));
        assert!(unspaced[0].ends_with('…'));
    }
}
