//! The conventions that all errors of this crate follow, and the errors of no module in particular.
//!
//! One enum per module that a caller can act on, marked `#[non_exhaustive]`; the name of the failing thing is in the
//! message; `code()` is stable across versions, for programs that look at errors.

/// A text that is not a legal identifier.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
#[error("`{text}` is not a legal {kind}: expected {rule}")]
#[non_exhaustive]
pub struct IdError {
    /// Which kind of identifier was expected, for example `agent id`.
    pub kind: &'static str,
    /// The refused text.
    pub text: String,
    /// The rule that it breaks.
    pub rule: &'static str,
}

impl IdError {
    /// The stable code of this error: `invalid_id`.
    #[must_use]
    pub const fn code(&self) -> &'static str {
        "invalid_id"
    }
}

impl From<std::convert::Infallible> for IdError {
    fn from(never: std::convert::Infallible) -> Self {
        match never {}
    }
}

/// Any error of a caller's own code. `anyhow::Error`, `String`, `&str` and every standard error convert into it.
pub type BoxError = Box<dyn std::error::Error + Send + Sync>;

/// The name among `known` that `wrong` was probably meant to be: one that differs in a few letters only.
pub(crate) fn nearest<'k>(wrong: &str, known: impl Iterator<Item = &'k str>) -> Option<&'k str> {
    let most = |name: &str| 2.max(name.chars().count() / 4);
    let (lower, length) = (wrong.to_lowercase(), wrong.chars().count());
    // How far the lengths are apart says most, at once; names from files can be of any length.
    let known = known.filter(|name| name.chars().count().abs_diff(length) <= most(name));
    let distances = known.map(|name| (strsim::damerau_levenshtein(&lower, &name.to_lowercase()), name));
    let (distance, name) = distances.min()?;
    (distance <= most(name) && distance < name.chars().count()).then_some(name)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_nearest_name_is_near() {
        let known = ["SearchTools", "weather", "x"];
        for (wrong, near) in [
            ("SerachTools", Some("SearchTools")),
            ("searchtool", Some("SearchTools")),
            ("Wether", Some("weather")),
            ("y", None),
            ("calendar", None),
        ] {
            assert_eq!(nearest(wrong, known.into_iter()), near, "{wrong}");
        }
    }
}
