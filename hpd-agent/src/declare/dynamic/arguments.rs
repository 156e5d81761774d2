use serde::de::DeserializeOwned;
use serde_json::{Map, Value};

use crate::declare::{
    Arguments, Params, ToolError,
    function::{missing_argument, wrong_argument},
};

/// The arguments of one call of a [`DynamicFunction`](super::DynamicFunction), which fit its declaration.
#[derive(Debug)]
pub struct DynamicArguments<'c>(Source<'c>);

#[derive(Debug)]
enum Source<'c> {
    Declared { arguments: Arguments<'c>, params: &'c Params },
    Schema(Map<String, Value>),
}

impl<'c> DynamicArguments<'c> {
    /// Those of a function with declared parameters, each of which is checked.
    pub(crate) fn declared(arguments: Arguments<'c>, params: &'c Params) -> Result<Self, ToolError> {
        params.check(&arguments)?;
        Ok(Self(Source::Declared { arguments, params }))
    }

    /// Those of a function with a schema, which were checked.
    pub(crate) fn checked(members: Map<String, Value>) -> Self {
        Self(Source::Schema(members))
    }

    /// The argument `name` as a value of type `T`. One that was left out is `null`: `None` for an `Option`.
    ///
    /// # Errors
    ///
    /// [`ToolError`], in words for the model, if the argument is missing or is no `T`. With the type by which the
    /// parameter was declared that cannot happen.
    pub fn get<T: DeserializeOwned>(&self, name: &str) -> Result<T, ToolError> {
        match &self.0 {
            Source::Declared { arguments, params } => {
                if params.iter().all(|param| param.name != name) {
                    return Err(ToolError::new(format!(
                        "The function asks for an argument `{name}` that it does not declare: a mistake in the program."
                    )));
                }
                arguments.take(name)
            }
            Source::Schema(members) => match members.get(name) {
                Some(value) => T::deserialize(value).map_err(|error| wrong_argument(name, &error)),
                None => T::deserialize(Value::Null).map_err(|_| missing_argument(name)),
            },
        }
    }

    /// All arguments as one JSON object; those that were left out, or given as `null`, are not in it.
    #[must_use]
    pub fn into_value(self) -> Value {
        match self.0 {
            Source::Declared { arguments, .. } => Value::Object(arguments.to_object()),
            Source::Schema(members) => Value::Object(members),
        }
    }
}
