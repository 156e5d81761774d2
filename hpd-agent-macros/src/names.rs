//! Which names are legal, and which legal word a wrong one was probably meant to be.

/// What an agent id has to look like. The runtime crate has the same words.
pub(crate) const AGENT_ID: &str = "1 to 128 characters from A-Z a-z 0-9 . _ / -, the first one a letter or digit";
/// What a tool name has to look like. The runtime crate has the same words.
pub(crate) const TOOL_NAME: &str = "1 to 64 characters from A-Z a-z 0-9 _ -";

/// Whether `text` is a legal agent id.
pub(crate) fn is_agent_id(text: &str) -> bool {
    text.len() <= 128
        && text.starts_with(|c: char| c.is_ascii_alphanumeric())
        && text.chars().all(|c| c.is_ascii_alphanumeric() || matches!(c, '.' | '_' | '/' | '-'))
}

/// Whether `text` is a legal tool name.
pub(crate) fn is_tool_name(text: &str) -> bool {
    (1..=64).contains(&text.len()) && text.chars().all(|c| c.is_ascii_alphanumeric() || matches!(c, '_' | '-'))
}

/// The legal word that `wrong` was probably meant to be.
pub(crate) fn nearest(wrong: &str, legal: &[&'static str]) -> Option<&'static str> {
    let wrong = wrong.trim_start_matches("r#").to_lowercase();
    let (best, word) = legal.iter().map(|word| (distance(&wrong, &word.to_lowercase()), *word)).min()?;
    if best <= 2.max(word.len() / 4) {
        return Some(word);
    }
    // `harnesses` for `tool_harnesses`, `context_policy` for `context`, `depth` for nothing.
    let related = |word: &&&'static str| {
        let word = word.to_lowercase();
        wrong.len() > 3 && (word.contains(&*wrong) || wrong.contains(&word))
    };
    legal.iter().filter(related).max_by_key(|word| word.len()).copied()
}

/// How many letters have to be changed, added or removed.
fn distance(one: &str, other: &str) -> usize {
    let mut row: Vec<usize> = (0..=other.chars().count()).collect();
    for (i, a) in one.chars().enumerate() {
        let mut diagonal = i;
        let mut left = i + 1;
        for (cell, b) in row.iter_mut().skip(1).zip(other.chars()) {
            let above = *cell;
            left = (diagonal + usize::from(a != b)).min(above + 1).min(left + 1);
            diagonal = above;
            *cell = left;
        }
        if let Some(first) = row.first_mut() {
            *first = i + 1;
        }
    }
    row.last().copied().unwrap_or_default()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_nearest_word_is_near() {
        let legal = ["agent_id", "name", "context", "invocation_mode", "availability", "tool_harnesses"];
        for (wrong, right) in [
            ("agentid", Some("agent_id")),
            ("agent_ids", Some("agent_id")),
            ("contxt", Some("context")),
            ("context_policy", Some("context")),
            ("harnesses", Some("tool_harnesses")),
            ("mode", Some("invocation_mode")),
            ("Name", Some("name")),
            ("temperature", None),
            ("x", None),
        ] {
            assert_eq!(nearest(wrong, &legal), right, "{wrong}");
        }
    }

    #[test]
    fn edit_distance() {
        for (one, other, expected) in
            [("", "", 0), ("a", "", 1), ("", "ab", 2), ("kitten", "sitting", 3), ("ab", "ba", 2)]
        {
            assert_eq!(distance(one, other), expected, "{one} {other}");
        }
    }

    #[test]
    fn ids_and_names() {
        assert!(is_agent_id("specialist.reviewer/v2") && is_agent_id(&"a".repeat(128)));
        for wrong in ["", "-a", ".a", "has space", "é", &"a".repeat(129)] {
            assert!(!is_agent_id(wrong), "{wrong}");
        }
        assert!(is_tool_name("get_weather-2") && is_tool_name(&"a".repeat(64)));
        for wrong in ["", "a.b", "has space", "größe", &"a".repeat(65)] {
            assert!(!is_tool_name(wrong), "{wrong}");
        }
    }
}
