//! Text of models on a terminal.

use std::io::{self, IsTerminal, Write};

/// Writes a text to standard output, followed by a line feed: as it is, or harmless if that is a terminal.
///
/// # Errors
///
/// Those of standard output.
pub fn print(text: &str) -> io::Result<()> {
    let mut out = io::stdout().lock();
    let text = text.trim_end();
    if out.is_terminal() {
        writeln!(out, "{}", harmless(text))?
    } else {
        writeln!(out, "{text}")?
    }
    out.flush()
}

/// The text without what would steer the terminal: an answer must not be able to move the cursor, hide what it says or
/// show it in another order. Line feeds and tabs stay.
#[must_use]
pub fn harmless(text: &str) -> String {
    text.chars().filter(|c| *c != '\r').map(|c| if steers(c) { '\u{fffd}' } else { c }).collect()
}

fn steers(c: char) -> bool {
    let control = c.is_control() && c != '\n' && c != '\t';
    // Marks that change the direction of writing.
    control || matches!(c, '\u{061c}' | '\u{200e}' | '\u{200f}' | '\u{202a}'..='\u{202e}' | '\u{2066}'..='\u{2069}')
}

/// The beginning of a text on one line, at most `limit` characters of it.
#[must_use]
pub fn preview(text: &str, limit: usize) -> String {
    let text = harmless(text);
    let mut words = text.split_whitespace();
    let mut line = String::new();
    let mut length = 0;
    for word in words.by_ref() {
        if length > 0 {
            line.push(' ');
            length += 1;
        }
        for c in word.chars() {
            if length >= limit {
                line.push('…');
                return line;
            }
            line.push(c);
            length += 1;
        }
    }
    line
}

/// How many columns of a terminal a character takes.
#[must_use]
pub fn columns(c: char) -> usize {
    match c {
        // Combining marks, joiners, variation selectors.
        '\u{300}'..='\u{36f}' | '\u{200b}'..='\u{200d}' | '\u{fe00}'..='\u{fe0f}' => 0,
        // Hangul, Han, kana, full-width forms, pictures.
        '\u{1100}'..='\u{115f}'
        | '\u{2e80}'..='\u{a4cf}'
        | '\u{ac00}'..='\u{d7a3}'
        | '\u{f900}'..='\u{faff}'
        | '\u{fe30}'..='\u{fe6f}'
        | '\u{ff00}'..='\u{ff60}'
        | '\u{ffe0}'..='\u{ffe6}'
        | '\u{1f300}'..='\u{1f64f}'
        | '\u{1f680}'..='\u{1f9ff}'
        | '\u{20000}'..='\u{3fffd}' => 2,
        _ => 1,
    }
}

/// How many columns of a terminal a text takes that stands on one line.
#[must_use]
pub fn columns_of(text: &str) -> usize {
    text.chars().map(columns).sum()
}

/// A text of one line in lines of at most `first` and then `others` columns. They end between words, unless a word is
/// longer than a line.
#[must_use]
pub fn wrap(text: &str, first: usize, others: usize) -> Vec<String> {
    let mut lines = Vec::new();
    let mut line = String::new();
    let mut room = first;
    for word in text.split(' ') {
        let gap = usize::from(!line.is_empty());
        if gap > 0 && gap + columns_of(word) > room {
            lines.push(std::mem::take(&mut line));
            room = others;
        } else if gap > 0 {
            line.push(' ');
            room -= gap;
        }
        for c in word.chars() {
            if columns(c) > room && !line.is_empty() {
                lines.push(std::mem::take(&mut line));
                room = others;
            }
            line.push(c);
            room = room.saturating_sub(columns(c));
        }
    }
    lines.push(line);
    lines
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn nothing_steers_the_terminal() {
        assert_eq!(harmless("a\u{1b}[2Jb\r\n\tc\u{202e}d"), "a\u{fffd}[2Jb\n\tc\u{fffd}d");
    }

    #[test]
    fn a_preview_is_one_line() {
        assert_eq!(preview("one\n\n two  three", 80), "one two three");
        assert_eq!(preview("äöü äöü", 5), "äöü ä…");
        assert_eq!(preview("", 5), "");
    }
    #[test]
    fn lines_end_between_words() {
        assert_eq!(wrap("one two three four", 9, 7), ["one two", "three", "four"]);
        assert_eq!(wrap("a longestword b", 6, 4), ["a", "long", "estw", "ord", "b"]);
        assert_eq!(wrap("日本語", 4, 4), ["日本", "語"]);
        assert_eq!(wrap("", 4, 4), [""]);
    }
}
