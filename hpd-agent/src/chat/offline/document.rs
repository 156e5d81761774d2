//! A text, taken apart: paragraphs, headings, sentences, words.

/// A text as the offline model sees it. Code blocks and tables are left out.
pub(super) struct Document {
    pub(super) paragraphs: Vec<Paragraph>,
    pub(super) sentences: Vec<Sentence>,
    pub(super) headings: usize,
}

pub(super) struct Paragraph {
    /// Where it begins, from 1.
    pub(super) line: usize,
    pub(super) words: usize,
}

pub(super) struct Sentence {
    pub(super) text: String,
    /// The line on which its paragraph begins, from 1.
    pub(super) line: usize,
    /// Lower case. Scripts without spaces between words give pairs of characters.
    pub(super) words: Vec<String>,
    /// It stands in a list.
    item: bool,
}

impl Sentence {
    /// Whether it says something by itself. What leads to a list or to code, a title, an entry of a list that goes on
    /// with another sentence, and a line of code do not.
    pub(super) fn is_whole(&self) -> bool {
        let goes_on = self.item && self.text.chars().find(|c| c.is_alphanumeric()).is_some_and(char::is_lowercase);
        let end = self.text.trim_end_matches(|c| is_closing(c) || c.is_whitespace()).chars().next_back();
        !goes_on && end.is_some_and(|end| is_terminator(end) || is_unpunctuated(end))
    }
}

impl Document {
    pub(super) fn parse(text: &str) -> Self {
        let mut document = Self { paragraphs: Vec::new(), sentences: Vec::new(), headings: 0 };
        let mut paragraph = String::new();
        let mut begin = 1;
        let mut in_item = false;
        let mut fence: Option<&str> = None;
        for (index, line) in text.lines().enumerate() {
            let bare = line.trim().trim_start_matches('>').trim_start();
            let mark = ["```", "~~~"].into_iter().find(|mark| bare.starts_with(mark));
            if fence.is_some() {
                if mark == fence {
                    fence = None;
                }
                continue;
            }
            let heading = is_heading(bare);
            let item = list_item(bare);
            let ends = mark.is_some()
                || heading
                || item.is_some()
                || bare.is_empty()
                || bare.starts_with('|')
                || is_rule(bare);
            if ends {
                document.close(&mut paragraph, begin, in_item);
            }
            fence = mark;
            document.headings += usize::from(heading);
            let content = match item {
                Some(item) => item,
                None if ends => continue,
                None => bare,
            };
            if paragraph.is_empty() {
                begin = index + 1;
                in_item = item.is_some();
            } else {
                paragraph.push(' ');
            }
            paragraph.push_str(content);
        }
        document.close(&mut paragraph, begin, in_item);
        document
    }

    fn close(&mut self, paragraph: &mut String, line: usize, item: bool) {
        let text = std::mem::take(paragraph);
        let mut count = 0;
        for text in sentences(&text) {
            let words = words(&text);
            count += words.len();
            if !words.is_empty() {
                self.sentences.push(Sentence { text, line, words, item });
            }
        }
        if count > 0 {
            self.paragraphs.push(Paragraph { line, words: count });
        }
    }

    pub(super) fn is_empty(&self) -> bool {
        self.sentences.is_empty()
    }

    pub(super) fn words(&self) -> usize {
        self.paragraphs.iter().map(|paragraph| paragraph.words).sum()
    }

    /// Whether there is something to summarize: more than a question or an instruction.
    pub(super) fn is_long(&self) -> bool {
        self.words() >= 20 || (self.sentences.len() >= 2 && self.words() >= 8)
    }
}

fn is_heading(line: &str) -> bool {
    let rest = line.trim_start_matches('#');
    let level = line.len() - rest.len();
    (1..=6).contains(&level) && rest.starts_with(char::is_whitespace)
}

/// A line of nothing but `-`, `=`, `*` or `_`.
fn is_rule(line: &str) -> bool {
    line.chars().count() >= 3 && line.chars().all(|c| matches!(c, '-' | '=' | '*' | '_' | ' '))
}

/// The content of a list item: what follows `- `, `* `, `+ `, `1. `, `1) ` and a check box.
fn list_item(line: &str) -> Option<&str> {
    let rest = match line.strip_prefix(['-', '*', '+', '•']) {
        Some(rest) => rest,
        None => {
            let rest = line.trim_start_matches(|c: char| c.is_ascii_digit());
            let digits = line.len() - rest.len();
            if !(1..=3).contains(&digits) {
                return None;
            }
            rest.strip_prefix(['.', ')'])?
        }
    };
    let rest = rest.strip_prefix(char::is_whitespace)?.trim_start();
    let boxes = ["[ ] ", "[x] ", "[X] "];
    Some(boxes.iter().find_map(|mark| rest.strip_prefix(mark)).unwrap_or(rest))
}

/// Abbreviations after which a sentence goes on, without their last dot, in lower case.
const ABBREVIATIONS: [&str; 46] = [
    "al", "approx", "art", "bzw", "ca", "cf", "chap", "co", "corp", "dept", "dr", "e.g", "ed", "eq", "esp", "est",
    "etc", "fig", "figs", "i.e", "inc", "incl", "jr", "lt", "ltd", "max", "min", "mr", "mrs", "ms", "mt", "nr", "p",
    "pp", "prof", "resp", "sec", "sr", "st", "tel", "u.s", "usw", "vgl", "vol", "vs", "z.b",
];

/// Splits running text into sentences.
fn sentences(text: &str) -> Vec<String> {
    let mut all = Vec::new();
    let mut sentence = String::new();
    let mut chars = text.chars().peekable();
    while let Some(c) = chars.next() {
        if c.is_whitespace() {
            if !sentence.is_empty() && !sentence.ends_with(' ') {
                sentence.push(' ');
            }
            continue;
        }
        sentence.push(c);
        if !is_terminator(c) {
            continue;
        }
        // Further terminators and what closes a quotation belong to the sentence.
        while let Some(next) = chars.next_if(|next| is_terminator(*next) || is_closing(*next)) {
            sentence.push(next);
        }
        let ends = match c {
            '。' | '！' | '？' | '｡' | '।' | '॥' | '։' | '۔' | '؟' | '።' | '။' | '។' | '៕' => true,
            _ => {
                let spaced = chars.peek().is_none_or(|next| next.is_whitespace());
                let mut ahead = chars.clone();
                let goes_on = ahead.find(|next| !next.is_whitespace()).is_some_and(char::is_lowercase);
                spaced && !goes_on && !(c == '.' && is_abbreviated(&sentence))
            }
        };
        if ends {
            push(&mut all, &mut sentence);
        }
    }
    push(&mut all, &mut sentence);
    all
}

fn push(all: &mut Vec<String>, sentence: &mut String) {
    let text = sentence.trim();
    if !text.is_empty() {
        all.push(text.to_owned());
    }
    sentence.clear();
}

fn is_terminator(c: char) -> bool {
    let latin = matches!(c, '.' | '!' | '?' | '…');
    latin || matches!(c, '。' | '！' | '？' | '｡' | '।' | '॥' | '։' | '۔' | '؟' | '።' | '။' | '។' | '៕')
}

fn is_closing(c: char) -> bool {
    matches!(c, '"' | '\'' | ')' | ']' | '}' | '”' | '’' | '»' | '」' | '』' | '）' | '】' | '*' | '_' | '`')
}

/// Whether the dot at the end is that of an abbreviation or an initial.
fn is_abbreviated(sentence: &str) -> bool {
    let before = sentence.trim_end_matches(|c: char| c == '.' || is_closing(c));
    let word = before.rsplit([' ', '(', '[', '"', '“']).next().unwrap_or_default().to_lowercase();
    let initial = word.chars().count() == 1 && word.chars().all(char::is_alphabetic);
    initial || ABBREVIATIONS.contains(&word.as_str())
}

/// The words of a text, in lower case.
pub(super) fn words(text: &str) -> Vec<String> {
    let mut all = Vec::new();
    let mut word = String::new();
    let mut before: Option<char> = None;
    let mut chars = text.chars().peekable();
    while let Some(c) = chars.next() {
        if is_unspaced(c) {
            end(&mut all, &mut word);
            // Pairs of characters stand for words; a character by itself for one too.
            match before {
                Some(before) => all.push([before, c].iter().collect()),
                None if !chars.peek().copied().is_some_and(is_unspaced) => all.push(c.to_string()),
                None => {}
            }
            before = Some(c);
            continue;
        }
        before = None;
        let inner = matches!(c, '\'' | '’' | '-' | '_')
            && !word.is_empty()
            && chars.peek().is_some_and(|c| c.is_alphanumeric());
        if c.is_alphanumeric() || inner || is_mark(c) {
            word.extend(c.to_lowercase());
        } else {
            end(&mut all, &mut word);
        }
    }
    end(&mut all, &mut word);
    all
}

fn end(all: &mut Vec<String>, word: &mut String) {
    if !word.is_empty() {
        all.push(std::mem::take(word));
    }
}

/// Scripts that put no spaces between words: Thai to Khmer, kana, Han.
fn is_unspaced(c: char) -> bool {
    matches!(c,
        '\u{0E00}'..='\u{0EFF}' | '\u{1000}'..='\u{109F}' | '\u{1780}'..='\u{17FF}' | '\u{3040}'..='\u{30FF}'
        | '\u{3400}'..='\u{4DBF}' | '\u{4E00}'..='\u{9FFF}' | '\u{F900}'..='\u{FAFF}' | '\u{20000}'..='\u{3FFFF}')
}

/// Scripts whose sentences end without a mark: Thai, Lao and Tibetan.
fn is_unpunctuated(c: char) -> bool {
    matches!(c, '\u{0E00}'..='\u{0FFF}')
}

/// Vowel signs and the like, which are no letters by themselves: combining marks of the scripts of India and others.
fn is_mark(c: char) -> bool {
    matches!(c, '\u{0300}'..='\u{036F}' | '\u{0591}'..='\u{05C7}' | '\u{064B}'..='\u{065F}' | '\u{0900}'..='\u{0DFF}')
        && !matches!(c, '।' | '॥')
}

#[cfg(test)]
mod tests {
    use super::*;

    #[track_caller]
    fn splits(text: &str, expected: &[&str]) {
        assert_eq!(sentences(text), expected, "{text}");
    }

    #[test]
    fn ends_of_sentences() {
        splits("One. Two! Three? Four… Five", &["One.", "Two!", "Three?", "Four…", "Five"]);
        splits("He said \"Stop.\" Then he left.", &["He said \"Stop.\"", "Then he left."]);
        splits("Pi is 3.14 or so. See example.com for v1.2.", &["Pi is 3.14 or so.", "See example.com for v1.2."]);
        splits("Really?! Yes...", &["Really?!", "Yes..."]);
        splits("Wait... then go.", &["Wait... then go."]);
        splits("", &[]);
        splits(" . ", &["."]);
    }

    #[test]
    fn abbreviations_end_nothing() {
        splits(
            "Dr. Smith met Mr. J. Doe, e.g. in Bern. He left.",
            &["Dr. Smith met Mr. J. Doe, e.g. in Bern.", "He left."],
        );
        splits("Use a cache (cf. Fig. 3). It helps.", &["Use a cache (cf. Fig. 3).", "It helps."]);
        splits("Das gilt z.B. Kunden. Und andere.", &["Das gilt z.B. Kunden.", "Und andere."]);
    }

    #[test]
    fn other_scripts() {
        splits(
            "今日は晴れです。明日は雨でしょう！「本当？」",
            &["今日は晴れです。", "明日は雨でしょう！", "「本当？」"],
        );
        splits("यह पहला वाक्य है। यह दूसरा है।", &["यह पहला वाक्य है।", "यह दूसरा है।"]);
        splits("هل هذا صحيح؟ نعم.", &["هل هذا صحيح؟", "نعم."]);
        splits("Привет. Как дела?", &["Привет.", "Как дела?"]);
    }

    #[test]
    fn words_of_all_scripts() {
        assert_eq!(words("Don't re-do (Äpfel), _v2_ a_b!"), ["don't", "re-do", "äpfel", "v2", "a_b"]);
        assert_eq!(words("東京都"), ["東京", "京都"]);
        assert_eq!(words("水"), ["水"]);
        assert_eq!(words("हिन्दी भाषा"), ["हिन्दी", "भाषा"]);
        assert_eq!(words("'- --"), Vec::<String>::new());
    }

    #[test]
    fn markdown() {
        let text = "# Title\n\nFirst line\nof a paragraph. Second.\n\n- item one\n- [x] item two\n1. item three\n\n> quoted\n\n\
            ```rust\nlet code = 1.\n```\n\n| a | b |\n\n---\nLast.";
        let document = Document::parse(text);
        let texts: Vec<_> = document.sentences.iter().map(|sentence| sentence.text.as_str()).collect();
        assert_eq!(
            texts,
            ["First line of a paragraph.", "Second.", "item one", "item two", "item three", "quoted", "Last."]
        );
        assert_eq!(document.headings, 1);
        let lines: Vec<_> = document.paragraphs.iter().map(|paragraph| paragraph.line).collect();
        assert_eq!(lines, [3, 6, 7, 8, 10, 19]);
    }

    #[test]
    fn some_sentences_are_fragments() {
        let whole = |text: &str| Document::parse(text).sentences.iter().all(Sentence::is_whole);
        for text in [
            "It works.",
            "He said \"Stop!\"",
            "**Does it?**",
            "(It does…)",
            "- An entry is a sentence.",
            "lower case is no fault.",
            "これは文です。",
            "「本当？」",
            "यह पहला वाक्य है।",
            "هل هذا صحيح؟",
            "ប្រយោគ។",
            "ภาษาไทยไม่มีจุดจบ",
        ] {
            assert!(whole(text), "{text}");
        }
        for text in [
            "The light at Marrow Point",
            "When it is called, the runtime",
            "These are the steps:",
            "手順：",
            "- an entry of a sentence,",
            "- and its last one.",
            "    let answer = compute();",
            "    println!(\"{answer}\")",
            "1. Open the door",
        ] {
            assert!(!whole(text), "{text}");
        }
    }

    #[test]
    fn nothing_is_a_document_too() {
        for text in ["", " \n\n ", "```\n", "...", "# ", "-", "\u{0}"] {
            let document = Document::parse(text);
            assert!(document.is_empty() && !document.is_long(), "{text:?}");
        }
    }
}
