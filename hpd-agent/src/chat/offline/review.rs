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

/// What is to be said about a sentence, and the words in it that it is about, if it is not the whole.
struct Remark {
    text: String,
    place: Option<String>,
}

impl Remark {
    fn whole(text: impl Into<String>) -> Self {
        Self { text: text.into(), place: None }
    }

    fn at(place: impl Into<String>, text: impl Into<String>) -> Self {
        Self { text: text.into(), place: Some(place.into()) }
    }
}

/// Adds a note for each sentence for which `find` gives a remark; beyond some, only their number.
fn per_sentence(document: &Document, notes: &mut Vec<String>, title: &str, find: impl Fn(&Sentence) -> Option<Remark>) {
    let mut found = 0;
    for sentence in &document.sentences {
        let Some(remark) = find(sentence) else {
            continue;
        };
        found += 1;
        if found <= PLACES {
            let quote = quoted(&sentence.text, remark.place.as_deref());
            notes.push(format!("**{title}** (line {}): {quote} {}", sentence.line, remark.text));
        }
    }
    match found.checked_sub(PLACES) {
        None | Some(0) => {}
        Some(1) => notes.push(format!("**{title}**: one more place like these.")),
        Some(more) => notes.push(format!("**{title}**: {more} more places like these.")),
    }
}

fn placeholders(document: &Document, notes: &mut Vec<String>) {
    per_sentence(document, notes, "Placeholder", |sentence| {
        let word = sentence.words.iter().find(|word| PLACEHOLDERS.contains(&word.as_str()));
        let mark = word.map(|word| word.to_uppercase());
        let mark = mark.or_else(|| sentence.text.contains("???").then(|| "???".to_owned()))?;
        let text = format!("Replace `{mark}` by the text that belongs there.");
        Some(Remark::at(mark, text))
    });
}

fn questions(document: &Document, notes: &mut Vec<String>) {
    per_sentence(document, notes, "Open question", |sentence| {
        let text = sentence.text.trim_end_matches(['"', '\'', '”', '’', '»', ')', '*', '_', '」']);
        let asks = text.ends_with(['?', '？', '؟']) && !text.ends_with("???");
        asks.then(|| Remark::whole("Answer it, or say who will and by when."))
    });
}

fn long_sentences(document: &Document, notes: &mut Vec<String>) {
    per_sentence(document, notes, "Long sentence", |sentence| {
        let words = sentence.words.len();
        (words > LONG_SENTENCE).then(|| Remark::whole(format!("It has {words} words: split it.")))
    });
}

fn doubled_words(document: &Document, notes: &mut Vec<String>) {
    per_sentence(document, notes, "Doubled word", |sentence| {
        let doubled = sentence.words.windows(2).find_map(|pair| match pair {
            // `that that` and `had had` can be right; a single character may be a list's or a formula's.
            [a, b] if a == b && a.is_ascii() && a.len() > 1 && a != "that" && a != "had" => Some(a),
            _ => None,
        })?;
        // Nothing but a space between them: `serde, serde_json` is no such pair.
        let place = format!("{doubled} {doubled}");
        find(&sentence.text, &place)?;
        Some(Remark::at(place, format!("Remove one `{doubled}`.")))
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
                let text = format!("Say who does it instead of `{word} {participle}`.");
                return Some(Remark::at(participle, text));
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
        let others = rest.iter().filter(|word| *word != first).take(2);
        let list: Vec<_> = std::iter::once(first).chain(others).map(|word| format!("`{word}`")).collect();
        let verb = if list.len() == 1 { "means" } else { "mean" };
        Some(Remark::at(*first, format!("Say what {} {verb} here, in numbers if possible.", list.join(" and "))))
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

/// A sentence in quotation marks; of a long one what is around `place`, or its beginning.
fn quoted(text: &str, place: Option<&str>) -> String {
    const LONGEST: usize = 80;
    const BEFORE: usize = 30;
    if text.chars().count() <= LONGEST {
        return format!("“{text}”");
    }
    // Where the place begins, and where the word begins that stands somewhat before it.
    let at = place.and_then(|place| find(text, place)).unwrap_or_default();
    let before = text.get(..at).unwrap_or_default();
    let back = before.char_indices().rev().nth(BEFORE).map_or(0, |(index, _)| index);
    let gap =
        if back == 0 { Some(0) } else { before.get(back..).and_then(|text| text.find(' ')).map(|gap| back + gap) };
    let from = text.get(gap.unwrap_or(back)..).unwrap_or(text).trim_start();
    let head: String = from.chars().take(LONGEST).collect();
    let before = if from.len() < text.len() { "… " } else { "" };
    if head.len() == from.len() {
        return format!("“{before}{head}”");
    }
    let whole = head.rfind(char::is_whitespace).and_then(|at| head.get(..at)).unwrap_or(&head);
    format!("“{before}{} …”", whole.trim_end())
}

/// Where `place` stands in `text` as words of its own, whatever the case of its Latin letters.
fn find(text: &str, place: &str) -> Option<usize> {
    let mut before: Option<char> = None;
    for (index, c) in text.char_indices() {
        let apart = |c: Option<char>| !c.is_some_and(char::is_alphanumeric);
        if apart(before)
            && text.get(index..index + place.len()).is_some_and(|here| here.eq_ignore_ascii_case(place))
            && apart(text.get(index + place.len()..).and_then(|rest| rest.chars().next()))
        {
            return Some(index);
        }
        before = Some(c);
    }
    None
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
        one("The page loads very fast.", &["**Vague**", "`very` and `fast` mean"]);
    }

    #[test]
    fn what_only_looks_like_an_issue() {
        for text in [
            "He is indeed here.",
            "The wall is red.",
            "I know that that works.",
            "We were there.",
            "哈哈哈哈。",
            "Use serde, serde_json.",
        ] {
            assert!(notes(text)[0].starts_with("No issues"), "{text}: {:?}", notes(text));
        }
    }

    #[test]
    fn long_sentences_are_quoted_around_the_place() {
        let text =
            "At the end of a long and quiet day in the office of the company the letter was posted by nobody at all.";
        one(text, &["“… of the company the letter was posted by nobody at all.”", "`was posted`"]);
        let unspaced = format!("{}TBD", "ü".repeat(200));
        assert!(quoted(&unspaced, Some("TBD")).ends_with("…”"));
        let place = format!("{} TBD {}", "ü".repeat(100), "ö".repeat(100));
        assert!(quoted(&place, Some("tbd")).contains("TBD"), "{}", quoted(&place, Some("tbd")));
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
