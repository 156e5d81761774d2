use serde::de::DeserializeOwned;
use serde_json::{Map, Value};

use crate::declare::{
    Arguments, Params, ToolError,
    function::{missing_argument, wrong_argument},
    whole,
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

    /// The argument `name` as a value of type `T`. One that was left out is its default, if it has one, or else `null`:
    /// `None` for an `Option`.
    ///
    /// # Errors
    ///
    /// [`ToolError`], in words for the model, if the argument is missing or is no `T`. With the type by which the
    /// parameter was declared that cannot happen.
    pub fn get<T: DeserializeOwned>(&self, name: &str) -> Result<T, ToolError> {
        match &self.0 {
            Source::Declared { arguments, params } => {
                let Some(param) = params.iter().find(|param| param.name == name) else {
                    return Err(ToolError::new(format!(
                        "The function asks for an argument `{name}` that it does not declare: a mistake in the program."
                    )));
                };
                match param.default {
                    Some(default) if arguments.get(name).is_none() => {
                        T::deserialize(default.value()).map_err(|error| wrong_argument(name, &error))
                    }
                    _ => arguments.take(name),
                }
            }
            Source::Schema(members) => match members.get(name) {
                Some(value) => T::deserialize(value)
                    .or_else(|error| whole::read_again(error, || Some(value.clone())))
                    .map_err(|error| wrong_argument(name, &error)),
                None => T::deserialize(Value::Null).map_err(|_| missing_argument(name)),
            },
        }
    }

    /// All arguments as one JSON object. Those that were left out, or given as `null`, are in it only if they have a
    /// default.
    ///
    /// # Errors
    ///
    /// [`ToolError`], in words for the model, if one of them is nested too deep to be a value.
    pub fn into_value(self) -> Result<Value, ToolError> {
        match self.0 {
            Source::Declared { arguments, params } => {
                let mut members = arguments.to_object()?;
                let defaults = params.iter().filter_map(|param| Some((param.name, param.default?.value())));
                for (name, default) in defaults.filter(|(_, default)| !default.is_null()) {
                    members.entry(name).or_insert(default);
                }
                Ok(Value::Object(members))
            }
            Source::Schema(members) => Ok(Value::Object(members)),
        }
    }
}
