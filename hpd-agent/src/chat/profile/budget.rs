//! How much work the form of one schema may be.
//!
//! A form is worked out by copying: what stands beside a reference goes with what it refers to, the parts of an `allOf`
//! go together, what holds for all alternatives goes into each. Definitions that do so with each other twice grow by
//! powers of two, so that a page of text could keep a program busy for years. Every pass pays here for what it does.

use serde_json::Value;

/// What one schema may cost. It is enough for thousands of properties, and gone within a fraction of a second.
const WORK: usize = 2_000_000;
/// What a comparison costs.
const COMPARISON: usize = 2;
/// What the copy of one value costs.
const COPY: usize = 8;
/// What a schema costs besides.
const SCHEMA: usize = 64;
/// Schemas in each other, references followed. JSON text is not read any deeper either, and a stack has to hold it.
const LEVELS: usize = 128;

/// What is left of it.
#[derive(Debug)]
pub(super) struct Budget {
    left: usize,
    level: usize,
    exceeded: Option<&'static str>,
}

impl Default for Budget {
    fn default() -> Self {
        Self { left: WORK, level: 0, exceeded: None }
    }
}

impl Budget {
    /// What was too much, in words.
    pub(super) fn exceeded(&self) -> Option<&'static str> {
        self.exceeded
    }

    /// Pays for so many comparisons, as each of these methods does. `false`: there is not enough left, and there will not
    /// be.
    pub(super) fn compare(&mut self, times: usize) -> bool {
        self.pay(times.saturating_mul(COMPARISON))
    }

    fn pay(&mut self, work: usize) -> bool {
        match self.left.checked_sub(work) {
            Some(left) if self.exceeded.is_none() => self.left = left,
            _ => {
                self.exceeded.get_or_insert("grows without measure");
            }
        }
        self.exceeded.is_none()
    }

    /// Pays for a schema that is looked at from within another one, up to [`leave`](Self::leave), and for its copy.
    pub(super) fn enter(&mut self, copied: usize) -> bool {
        if self.level >= LEVELS {
            self.exceeded.get_or_insert("is nested deeper than 128 levels, references followed");
        }
        let paid = self.pay(copied.saturating_mul(COPY).saturating_add(SCHEMA));
        self.level += usize::from(paid);
        paid
    }

    pub(super) fn leave(&mut self) {
        self.level = self.level.saturating_sub(1);
    }

    /// Pays for so many copies of values that are so large.
    pub(super) fn copy(&mut self, size: usize, times: usize) -> bool {
        self.pay(size.saturating_mul(times).saturating_mul(COPY))
    }
}

/// How many values a value consists of, long texts counting for more than one.
pub(super) fn size(value: &Value) -> usize {
    match value {
        Value::String(text) => 1 + text.len() / 64,
        Value::Array(values) => 1 + values.iter().map(size).sum::<usize>(),
        Value::Object(members) => 1 + size_of(members),
        _ => 1,
    }
}

/// The same for members.
pub(super) fn size_of<'v>(members: impl IntoIterator<Item = (&'v String, &'v Value)>) -> usize {
    members.into_iter().map(|(name, value)| name.len() / 64 + size(value)).sum()
}
