//! What to do about a mistake, in the words of the place where it was made.

use super::{ErasedHarness, Origin};

/// How a declaration is written.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Written {
    /// With attributes, on a method.
    Attributes,
    /// With values and closures, at run time.
    Values,
    /// In a definition file.
    File,
}

impl Written {
    /// How a tool of a harness is written.
    pub(crate) fn of(harness: &dyn ErasedHarness, tool: usize) -> Self {
        match harness.info(tool).map(|info| &info.origin) {
            Some(Origin::File { .. }) => Self::File,
            _ if harness.identity().is_some() => Self::Attributes,
            _ => Self::Values,
        }
    }
}

/// One advice for whoever writes attributes, values, or a file.
#[derive(Debug, Clone, Copy)]
pub(crate) struct Advice {
    pub(crate) attributes: &'static str,
    pub(crate) values: &'static str,
    pub(crate) file: &'static str,
}

impl Advice {
    pub(crate) const fn to(&self, written: Written) -> &'static str {
        match written {
            Written::Attributes => self.attributes,
            Written::Values => self.values,
            Written::File => self.file,
        }
    }
}
