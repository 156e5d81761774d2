use schemars::JsonSchema;
use serde::{Serialize, de::DeserializeOwned};

use super::RawSchema;
use crate::{
    chat::Schema,
    declare::{ArgumentDefault as _, FunctionInfo, OwnedParam, Params},
};

/// The declaration of a function at run time: what `#[ai_function]` and a method's signature say.
///
/// ```
/// use hpd_agent::declare::DynamicFunction;
///
/// let function = DynamicFunction::new("delete_file", "Deletes a file.")
///     .with_param::<String>("path", "The file.")
///     .with_param::<Option<bool>>("force", "Delete it even if it is read-only.")
///     .requires_permission()
///     .exclusive();
/// # let _ = function;
/// ```
#[derive(Debug)]
#[must_use = "a declaration is given to `DynamicHarness::with_function`"]
pub struct DynamicFunction {
    name: String,
    description: String,
    input: Input,
    requires_permission: bool,
    exclusive: bool,
}

#[derive(Debug)]
enum Input {
    Params(Vec<OwnedParam>),
    Schema(RawSchema),
}

impl DynamicFunction {
    /// A function of this name. The description is for the model that chooses among tools.
    pub fn new(name: impl Into<String>, description: impl Into<String>) -> Self {
        Self::with_input(name.into(), description.into(), Input::Params(Vec::new()))
    }

    /// A function whose arguments are described by a JSON schema of type `object`, for tools that are known only at run
    /// time. Names, `required`, and the `type`, `enum` and `const` of each property are checked before the function
    /// runs; the rest of the schema is for the model, and for the function to check.
    ///
    /// `build()` refuses what is no schema: keywords with values that mean nothing, references that lead nowhere; and
    /// one that requires what it does not allow.
    ///
    /// ```
    /// use hpd_agent::declare::DynamicFunction;
    ///
    /// let function = DynamicFunction::from_schema(
    ///     "search",
    ///     "Searches the notes.",
    ///     serde_json::json!({
    ///         "type": "object",
    ///         "properties": {"query": {"type": "string"}},
    ///         "required": ["query"],
    ///         "additionalProperties": false,
    ///     }),
    /// );
    /// # let _ = function;
    /// ```
    pub fn from_schema(name: impl Into<String>, description: impl Into<String>, schema: impl Into<Schema>) -> Self {
        Self::with_input(name.into(), description.into(), Input::Schema(RawSchema::new(schema.into())))
    }

    fn with_input(name: String, description: String, input: Input) -> Self {
        Self { name, description, input, requires_permission: false, exclusive: false }
    }

    /// One more parameter, described to the model by `description` if that is not empty; a blank one is refused. It may be left out if its type
    /// accepts `null`, as `Option` does. If not, it comes before those with a default: `build()` refuses it behind one.
    ///
    /// A function with a schema of its own has no further parameters: `build()` refuses them.
    pub fn with_param<T: DeserializeOwned + JsonSchema>(self, name: &str, description: &str) -> Self {
        self.with(name, OwnedParam::of::<T>(name, Some(description).filter(|text| !text.is_empty())))
    }

    /// One more parameter with a default, which the model is told, and which the function is given where the model leaves
    /// it out.
    pub fn with_param_or<T>(self, name: &str, description: &str, default: T) -> Self
    where
        T: DeserializeOwned + JsonSchema + Serialize,
    {
        let param = OwnedParam::of::<T>(name, Some(description).filter(|text| !text.is_empty()));
        self.with(name, param.with_default(default.into_default()))
    }

    fn with(mut self, name: &str, param: OwnedParam) -> Self {
        match &mut self.input {
            Input::Params(params) => params.push(param),
            Input::Schema(schema) => schema.refuse(name),
        }
        self
    }

    /// Whether a call has to be permitted: it has.
    pub fn requires_permission(mut self) -> Self {
        self.requires_permission = true;
        self
    }

    /// No other call of the same message runs at the same time.
    pub fn exclusive(mut self) -> Self {
        self.exclusive = true;
        self
    }

    pub(super) fn into_parts(self) -> (String, String, FunctionInfo) {
        let params = match self.input {
            Input::Params(params) => Params::Owned(params),
            Input::Schema(schema) => Params::Schema(schema),
        };
        let Self { requires_permission, exclusive, .. } = self;
        (self.name, self.description, FunctionInfo { params, requires_permission, exclusive })
    }
}
