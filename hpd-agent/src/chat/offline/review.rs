//! What can be improved in a text, by rules.

use super::document::{Document, Sentence};

const LONG_SENTENCE: usize = 30;
const LONG_PARAGRAPH: usize = 150;
const NEEDS_HEADINGS: usize = 300;
/// How many places of one kind are listed.
const PLACES: usize = 3;

const PLACEHOLDERS: [&str; 6] = ["todo", "tbd", "tba", "fixme", "xxx", "lorem"];

const VAGUE: [&str; 30] = [
    "appropriate",
    "approximately",
    "basically",
    "better",
    "easily",
    "easy",
    "etc",
    "fast",
    "flexible",
    "good",
    "hopefully",
    "maybe",
    "probably",
    "quickly",
    "quite",
    "reasonable",
    "robust",
    "several",
    "significant",
    "significantly",
    "simple",
    "simply",
    "somehow",
    "soon",
    "stuff",
    "sufficient",
    "things",
    "user-friendly",
    "various",
    "very",
];

const BE: [&str; 8] = ["am", "are", "be", "been", "being", "is", "was", "were"];

/// Participles that don't end in `ed`.
const IRREGULAR: [&str; 38] = [
    "begun",
    "bought",
    "broken",
    "brought",
    "built",
    "caught",
    "chosen",
    "done",
    "drawn",
    "driven",
    "found",
    "given",
    "held",
    "hidden",
    "kept",
    "known",
    "left",
    "lost",
    "made",
    "meant",
    "paid",
    "put",
    "read",
    "run",
    "said",
    "seen",
    "sent",
    "set",
    "shown",
    "sold",
    "spent",
    "taken",
    "taught",
    "thought",
    "thrown",
    "told",
    "understood",
    "written",
];

/// Words in `ed` that are no participles.
const NO_PARTICIPLES: [&str; 8] = ["embed", "exceed", "indeed", "need", "proceed", "red", "speed", "succeed"];

/// A numbered list of observations, the weightiest first.
pub(super) fn review(document: &Document) -> String {
    let mut notes = Vec::new();
    for check in [placeholders, questions, long_sentences, doubled_words, passive, vague] {
        check(document, &mut notes);
    }
    structure(document, &mut notes);
    if notes.is_empty() {
        return "No issues found: no placeholders, open questions, long sentences or paragraphs, doubled words, passive \
            voice or vague words. The rules of the offline reviewer see form only, not whether the text is right."
            .to_owned();
    }
    let notes: Vec<_> = notes.iter().enumerate().map(|(index, note)| format!("{}. {note}", index + 1)).collect();
    notes.join("\n")
}

/// Adds a note for each sentence for which `find` gives a remark; beyond some, only their number.
fn per_sentence(document: &Document, notes: &mut Vec<String>, title: &str, find: impl Fn(&Sentence) -> Option<String>) {
    let mut found = 0;
    for sentence in &document.sentences {
        let Some(remark) = find(sentence) else {
            continue;
        };
        found += 1;
        if found <= PLACES {
            notes.push(format!("**{title}** (line {}): {} {remark}", sentence.line, quoted(&sentence.text)));
        }
    }
    if found > PLACES {
        notes.push(format!("**{title}**: {} more places like these.", found - PLACES));
    }
}

fn placeholders(document: &Document, notes: &mut Vec<String>) {
    per_sentence(document, notes, "Placeholder", |sentence| {
        let word = sentence.words.iter().find(|word| PLACEHOLDERS.contains(&word.as_str()));
        let mark = word.map(|word| word.to_uppercase());
        let mark = mark.or_else(|| sentence.text.contains("???").then(|| "???".to_owned()))?;
        Some(format!("Replace `{mark}` by the text that belongs there."))
    });
}

fn questions(document: &Document, notes: &mut Vec<String>) {
    per_sentence(document, notes, "Open question", |sentence| {
        let text = sentence.text.trim_end_matches(['"', '\'', '”', '’', '»', ')', '*', '_', '」']);
        let asks = text.ends_with(['?', '？', '؟']) && !text.ends_with("???");
        asks.then(|| "Answer it, or say who will and by when.".to_owned())
    });
}

fn long_sentences(document: &Document, notes: &mut Vec<String>) {
    per_sentence(document, notes, "Long sentence", |sentence| {
        let words = sentence.words.len();
        (words > LONG_SENTENCE).then(|| format!("It has {words} words: split it."))
    });
}

fn doubled_words(document: &Document, notes: &mut Vec<String>) {
    per_sentence(document, notes, "Doubled word", |sentence| {
        let double = sentence.words.windows(2).find_map(|pair| match pair {
            // Two characters are a pair of a script without spaces, or "ha ha".
            [a, b] if a == b && a.is_ascii() && a.len() > 1 => Some(a),
            _ => None,
        })?;
        // `that that` and `had had` can be right.
        (!["that", "had"].contains(&double.as_str())).then(|| format!("Remove one `{double}`."))
    });
}

fn passive(document: &Document, notes: &mut Vec<String>) {
    per_sentence(document, notes, "Passive voice", |sentence| {
        let mut words = sentence.words.iter().map(String::as_str);
        while let Some(word) = words.next() {
            if !BE.contains(&word) {
                continue;
            }
            // One adverb may stand between, or a `not`.
            let mut ahead = words.clone().skip_while(|word| *word == "not" || word.ends_with("ly"));
            if let Some(participle) = ahead.next().filter(|word| is_participle(word)) {
                return Some(format!("Say who does it instead of `{word} {participle}`."));
            }
        }
        None
    });
}

fn is_participle(word: &str) -> bool {
    let regular = word.len() > 4 && word.ends_with("ed") && !NO_PARTICIPLES.contains(&word);
    regular || IRREGULAR.contains(&word)
}

fn vague(document: &Document, notes: &mut Vec<String>) {
    per_sentence(document, notes, "Vague", |sentence| {
        let words: Vec<_> = sentence.words.iter().map(String::as_str).filter(|word| VAGUE.contains(word)).collect();
        let (first, rest) = words.split_first()?;
        let mut list = format!("`{first}`");
        for word in rest.iter().filter(|word| *word != first).take(2) {
            list.push_str(&format!(", `{word}`"));
        }
        Some(format!("Say what {list} means here, in numbers if possible."))
    });
}

fn structure(document: &Document, notes: &mut Vec<String>) {
    let long = document.paragraphs.iter().filter(|paragraph| paragraph.words > LONG_PARAGRAPH);
    for paragraph in long.take(PLACES) {
        notes.push(format!(
            "**Long paragraph** (line {}): It has {} words: give each thought a paragraph of its own.",
            paragraph.line, paragraph.words
        ));
    }
    let words = document.words();
    if document.headings == 0 && words > NEEDS_HEADINGS {
        notes.push(format!(
            "**No headings**: The text has {words} words and not one heading: add some, so that readers find their way."
        ));
    }
}

/// The beginning of a sentence, in quotation marks.
fn quoted(text: &str) -> String {
    const LONGEST: usize = 80;
    let head: String = text.chars().take(LONGEST).collect();
    if head.len() == text.len() {
        return format!("“{head}”");
    }
    let whole = head.rfind(char::is_whitespace).and_then(|at| head.get(..at)).unwrap_or(&head);
    format!("“{} …”", whole.trim_end())
}

#[cfg(test)]
mod tests {
    use super::*;

    fn notes(text: &str) -> Vec<String> {
        review(&Document::parse(text)).lines().map(str::to_owned).collect()
    }

    #[track_caller]
    fn one(text: &str, parts: &[&str]) {
        let notes = notes(text);
        assert_eq!(notes.len(), 1, "{notes:#?}");
        for part in parts {
            assert!(notes[0].contains(part), "{part} in {notes:?}");
        }
    }

    #[test]
    fn every_kind_of_issue() {
        one("The owner is TBD.", &["1. **Placeholder** (line 1)", "“The owner is TBD.”", "`TBD`"]);
        one("Ann pays.\n\nWho calls Bob?", &["**Open question** (line 3)", "Who calls Bob?"]);
        let long = format!("We {} stop.", "walk and ".repeat(20));
        one(&long, &["**Long sentence**", "42 words"]);
        one("We ship the the box.", &["**Doubled word**", "`the`"]);
        one("The file was quietly deleted by nobody.", &["**Passive voice**", "`was deleted`"]);
        one("The box is not sent.", &["`is sent`"]);
        one("The page loads very fast.", &["**Vague**", "`very`, `fast`"]);
    }

    #[test]
    fn what_only_looks_like_an_issue() {
        for text in
            ["He is indeed here.", "The wall is red.", "I know that that works.", "We were there.", "哈哈哈哈。"]
        {
            assert!(notes(text)[0].starts_with("No issues"), "{text}: {:?}", notes(text));
        }
    }

    #[test]
    fn structure_of_long_texts() {
        let paragraph = "Ann pays Bob. ".repeat(60);
        let text = format!("{paragraph}\n\n{paragraph}");
        let notes = notes(&text);
        assert_eq!(notes.iter().filter(|note| note.contains("Long paragraph")).count(), 2);
        assert!(notes[1].contains("(line 3)"));
        assert!(notes[2].contains("No headings") && notes[2].contains("360 words"));
        assert!(!review(&Document::parse(&format!("# Title\n\n{text}"))).contains("No headings"));
    }

    #[test]
    fn many_places_of_one_kind_are_counted() {
        let notes = notes(&"Who calls Bob? ".repeat(10));
        assert_eq!(notes.len(), 4);
        assert!(notes[3].contains("7 more"));
    }

    #[test]
    fn the_weightiest_come_first() {
        let notes = notes("It is very good. The owner is TBD.");
        assert!(notes[0].contains("Placeholder") && notes[1].contains("Vague"), "{notes:?}");
    }
}
