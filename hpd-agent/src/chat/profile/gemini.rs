//! Gemini's function declarations, in their field `parametersJsonSchema`.
//!
//! Google lists the keywords of JSON Schema that count: `$defs`, `$ref`, `type`, `format`, `title`, `description`, `enum`
//! (of texts and numbers), `items`, `prefixItems`, `minItems`, `maxItems`, `minimum`, `maximum`, `anyOf`, `oneOf` (taken
//! for `anyOf`), `properties`, `additionalProperties` and `required`. Nothing may stand beside a `$ref`. A type that
//! contains itself is unrolled, so a property on the way has to be one that is not required. The older field `parameters`
//! knows less, no references among other things.

use serde_json::Value;

use super::{
    SchemaError, SchemaProfile,
    translate::{Dialect, Translator},
};

const GEMINI: Dialect = Dialect {
    profile: SchemaProfile::Gemini,
    closed: false,
    limits: &["maxItems", "maximum", "minItems", "minimum"],
    formats: &["date", "date-time", "time"],
};

/// The form.
pub(super) fn form(canonical: &Value) -> Result<Value, Vec<SchemaError>> {
    Translator::new(&GEMINI, canonical).form()
}
