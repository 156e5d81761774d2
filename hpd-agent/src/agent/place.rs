//! Where something is declared, as errors name it.

use std::{fmt, sync::Arc};

use crate::declare::{ErasedHarness, Origin, Written};

/// Where something is declared.
#[derive(Clone)]
pub(crate) enum Place {
    Builder,
    Method(Arc<dyn ErasedHarness>, usize),
}

impl Place {
    /// In which words an advice is given there.
    pub(crate) fn written(&self) -> Written {
        match self {
            Self::Builder => Written::Values,
            Self::Method(harness, index) => Written::of(&**harness, *index),
        }
    }

    /// Who owns what is declared here: `package:Harness.method`.
    pub(crate) fn owner(&self) -> String {
        match self {
            Self::Builder => String::new(),
            Self::Method(harness, index) => {
                let method = harness.info(*index).map_or("", |info| info.method.as_ref());
                format!("{}:{}.{method}", harness.package(), harness.name())
            }
        }
    }

    /// The same, in another line than that in which it begins.
    pub(crate) fn with_origin(&self, origin: &Origin) -> String {
        let method = match self {
            Self::Builder => None,
            Self::Method(harness, index) => harness.info(*index).map(|info| (harness.name(), &info.method)),
        };
        method.map_or_else(|| self.to_string(), |(harness, method)| format!("`{harness}.{method}` ({origin})"))
    }
}

impl fmt::Display for Place {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Builder => f.write_str("the agent's builder"),
            Self::Method(harness, index) => match harness.info(*index) {
                Some(info) => write!(f, "`{}.{}` ({})", harness.name(), info.method, info.origin),
                None => write!(f, "`{}`", harness.name()),
            },
        }
    }
}

impl fmt::Debug for Place {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        fmt::Display::fmt(self, f)
    }
}
