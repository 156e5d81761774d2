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
}
