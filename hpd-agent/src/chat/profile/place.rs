//! Where in a schema something is, for messages.

use super::keywords::Step;

/// A place, as a person would call it and as a JSON pointer.
#[derive(Debug, Clone, Default)]
pub(super) struct Place {
    path: String,
    pointer: String,
}

impl Place {
    fn down(&self, path: String, steps: &[&str]) -> Self {
        let mut pointer = self.pointer.clone();
        for step in steps {
            pointer.push('/');
            pointer.push_str(&step.replace('~', "~0").replace('/', "~1"));
        }
        Self { path, pointer }
    }

    /// What is one step deeper.
    pub(super) fn step(&self, step: Step<'_>) -> Self {
        match step {
            Step::Only("items") => self.items(),
            Step::Only("additionalProperties") => self.values(),
            Step::Only(keyword) => self.keyword(keyword),
            Step::Listed("prefixItems", index) => self.item(index),
            Step::Listed(keyword, index) => self.branch(keyword, index),
            Step::Named("properties", name) => self.property(name),
            Step::Named(keyword, name) => self.down(self.path.clone(), &[keyword, name]),
        }
    }

    pub(super) fn property(&self, name: &str) -> Self {
        let path = if self.path.is_empty() { name.to_owned() } else { format!("{}.{name}", self.path) };
        self.down(path, &["properties", name])
    }

    /// The values of a map.
    pub(super) fn values(&self) -> Self {
        let path = if self.path.is_empty() { "*".to_owned() } else { format!("{}.*", self.path) };
        self.down(path, &["additionalProperties"])
    }

    pub(super) fn items(&self) -> Self {
        self.down(format!("{}[]", self.path), &["items"])
    }

    pub(super) fn item(&self, index: usize) -> Self {
        self.down(format!("{}[{index}]", self.path), &["prefixItems", &index.to_string()])
    }

    /// One of several schemas for the same value: nothing of it is seen in the path.
    pub(super) fn branch(&self, keyword: &str, index: usize) -> Self {
        self.down(self.path.clone(), &[keyword, &index.to_string()])
    }

    pub(super) fn keyword(&self, keyword: &str) -> Self {
        self.down(self.path.clone(), &[keyword])
    }

    /// The same value, described by a definition.
    pub(super) fn definition(&self, holder: &str, name: &str) -> Self {
        Self::default().down(self.path.clone(), &[holder, name])
    }

    pub(super) fn path(&self) -> String {
        if self.path.is_empty() { "the arguments".to_owned() } else { self.path.clone() }
    }

    pub(super) fn pointer(&self) -> String {
        self.pointer.clone()
    }
}
