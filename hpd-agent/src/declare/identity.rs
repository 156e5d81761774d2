//! What tells one harness from another, in constants and at run time.

use std::panic::Location;

/// What tells a harness from all others. The types that one block with parameters makes are not told apart.
#[doc(hidden)]
#[derive(Debug)]
pub struct HarnessIdentity {
    pub(crate) name: &'static str,
    pub(crate) module: &'static str,
    pub(crate) package: &'static str,
    pub(crate) location: &'static Location<'static>,
    /// Whether the block has parameters.
    pub(crate) is_generic: bool,
    /// Differs between most harnesses.
    pub(super) hash: u64,
}

impl HarnessIdentity {
    #[must_use]
    pub const fn new(
        name: &'static str,
        module: &'static str,
        package: &'static str,
        location: &'static Location<'static>,
        is_generic: bool,
    ) -> Self {
        // No loop: every harness has one, and few need it.
        let mut hash = (location.line() as u64) << 32 | location.column() as u64;
        hash = mix(hash, name.as_bytes());
        hash = mix(hash, module.as_bytes());
        Self { name, module, package, location, is_generic, hash }
    }

    pub(super) const fn is(&self, other: &Self) -> bool {
        let (here, there) = (self.location, other.location);
        self.hash == other.hash
            && same(self.name, other.name)
            && same(self.module, other.module)
            && same(self.package, other.package)
            && same(here.file(), there.file())
            && here.line() == there.line()
            && here.column() == there.column()
    }

    /// Which of the harnesses of a cycle has the error: one of them, so that there is one error. It is the first by
    /// name, but rather one without parameters, for that is checked where it is declared.
    pub(crate) const fn precedes(&self, other: &Self) -> bool {
        if self.is_generic != other.is_generic {
            return other.is_generic;
        }
        let (here, there) = (self.location, other.location);
        let mut pairs: &[(&[u8], &[u8])] = &[
            (self.name.as_bytes(), other.name.as_bytes()),
            (self.module.as_bytes(), other.module.as_bytes()),
            (self.package.as_bytes(), other.package.as_bytes()),
            (here.file().as_bytes(), there.file().as_bytes()),
            (&here.line().to_be_bytes(), &there.line().to_be_bytes()),
            (&here.column().to_be_bytes(), &there.column().to_be_bytes()),
        ];
        while let [(this, that), rest @ ..] = pairs {
            let order = order(this, that);
            if order != 0 {
                return order < 0;
            }
            pairs = rest;
        }
        false
    }

    /// Whether the name alone would be taken for that of the other harness.
    pub(crate) const fn is_namesake(&self, other: &Self) -> bool {
        same(self.name, other.name) && !same(self.module, other.module)
    }
}

/// Takes the length and both ends of a text into a hash.
const fn mix(hash: u64, text: &[u8]) -> u64 {
    let ends = match text {
        [a, b, c, d, .., w, x, y, z] => u64::from_le_bytes([*a, *b, *c, *d, *w, *x, *y, *z]),
        [a, .., z] => u64::from_le_bytes([*a, *z, 0, 0, 0, 0, 0, 0]),
        [a] => *a as u64,
        [] => 0,
    };
    (hash.rotate_left(17) ^ ends ^ text.len() as u64).wrapping_mul(0x9e37_79b9_7f4a_7c15)
}

/// Whether two texts are the same, in a constant. From the end: names that are alike mostly begin alike.
pub(crate) const fn same(one: &str, other: &str) -> bool {
    let (mut one, mut other) = (one.as_bytes(), other.as_bytes());
    if one.len() != other.len() {
        return false;
    }
    while let ([one_rest @ .., a], [other_rest @ .., b]) = (one, other) {
        if *a != *b {
            return false;
        }
        one = one_rest;
        other = other_rest;
    }
    true
}

/// Negative, 0 or positive.
const fn order(this: &[u8], that: &[u8]) -> i8 {
    let (mut this, mut that) = (this, that);
    loop {
        match (this, that) {
            ([], []) => return 0,
            ([], _) => return -1,
            (_, []) => return 1,
            ([a, ..], [b, ..]) if *a != *b => return if *a < *b { -1 } else { 1 },
            ([_, here @ ..], [_, there @ ..]) => (this, that) = (here, there),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn identity(name: &'static str, module: &'static str, is_generic: bool) -> HarnessIdentity {
        HarnessIdentity::new(name, module, "package", Location::caller(), is_generic)
    }

    #[test]
    fn texts_are_compared_whole() {
        for (one, other) in [("", ""), ("a", "a"), ("größe", "größe")] {
            assert!(same(one, other), "{one} {other}");
        }
        for (one, other) in [("", "a"), ("a", "b"), ("ab", "b"), ("ab", "cb"), ("ab", "ac")] {
            assert!(!same(one, other), "{one} {other}");
        }
    }

    #[test]
    fn one_of_two_harnesses_precedes_and_parameters_come_last() {
        let sorted = [
            identity("a", "m", false),
            identity("a", "n", false),
            identity("ab", "m", false),
            identity("b", "m", false),
            identity("a", "m", true),
            identity("b", "m", true),
        ];
        for (at, one) in sorted.iter().enumerate() {
            for (other_at, other) in sorted.iter().enumerate() {
                assert_eq!(one.precedes(other), at < other_at, "{one:?} {other:?}");
                assert_eq!(one.is_namesake(other), one.name == other.name && one.module != other.module);
            }
        }
    }

    #[test]
    fn harnesses_with_one_hash_are_told_apart() {
        let location = Location::caller();
        let make = |name| HarnessIdentity::new(name, "module", "package", location, false);
        let (one, other) = (make("first-1-last"), make("first-2-last"));
        assert_eq!(one.hash, other.hash);
        assert!(one.is(&make("first-1-last")) && !one.is(&other));
        assert!(!one.is(&identity("first-1-last", "module", false)), "it is declared elsewhere");
        for [this, that] in [["a", "b"], ["", "a"], ["ab", "ac"], ["longer-name-a", "longer-name-b"]] {
            assert_ne!(make(this).hash, make(that).hash, "{this} {that}");
        }
    }
}
