//! The parameters of a function: those of a method, and those that are declared at run time.

use schemars::{JsonSchema, SchemaGenerator};
use serde::de::DeserializeOwned;
use serde_json::Value;

use super::{Arguments, RawSchema, ToolError, ToolParam};
use crate::id::rules;

/// One parameter of a function, as its descriptor has it.
#[doc(hidden)]
#[derive(Debug, Clone, Copy)]
pub struct ParamInfo<'a> {
    pub name: &'a str,
    pub doc: Option<&'a str>,
    /// Whether the model gives it.
    pub in_schema: bool,
    pub schema: fn(&mut SchemaGenerator) -> schemars::Schema,
    /// Whether the model may leave it out.
    pub optional: fn() -> bool,
    /// What it is then, if the declaration says so.
    pub default: Option<ParamDefault<'a>>,
}

/// What a parameter is that the model leaves out.
#[doc(hidden)]
#[derive(Debug, Clone, Copy)]
pub enum ParamDefault<'a> {
    /// Made where it is needed.
    Made(fn() -> Value),
    /// Kept with a declaration that was made at run time.
    Given(&'a Value),
}

impl ParamDefault<'_> {
    /// As the model is told it.
    #[must_use]
    pub fn value(self) -> Value {
        match self {
            Self::Made(make) => make(),
            Self::Given(value) => value.clone(),
        }
    }
}

impl<'a> ParamInfo<'a> {
    /// The descriptor of a parameter of type `T`.
    #[must_use]
    pub const fn of<T: ToolParam<'static>>(name: &'a str, doc: Option<&'a str>) -> Self {
        Self { name, doc, in_schema: T::IN_SCHEMA, schema: T::schema, optional: T::optional, default: None }
    }

    /// The same with a default.
    #[must_use]
    pub const fn with_default(mut self, default: fn() -> Value) -> Self {
        self.default = Some(ParamDefault::Made(default));
        self
    }

    /// What is wrong with its default, or with its place behind others. The order is that in which a model reads the
    /// parameters.
    fn problem<'p>(&self, mut earlier: impl Iterator<Item = ParamInfo<'p>>) -> Option<String> {
        let name = self.name;
        match self.default.map(ParamDefault::value) {
            // Only something with a default in front of it makes it worthwhile to ask the type.
            None => {
                let before = earlier.find(|other| other.default.is_some()).filter(|_| !(self.optional)())?;
                Some(format!(
                    "`{name}` has to be given and stands behind `{}`, which has a default; put it before, or give it a \
                     default too",
                    before.name
                ))
            }
            Some(Value::Null) if !(self.optional)() => {
                Some(format!("the default of `{name}` cannot be written as JSON: give it another, or none"))
            }
            Some(_) => None,
        }
    }
}

/// The parameters of a function, in the order of the declaration.
#[doc(hidden)]
#[derive(Debug)]
pub enum Params {
    /// Those of a method.
    Static(&'static [ParamInfo<'static>]),
    /// Those of a function that was declared at run time.
    Owned(Vec<OwnedParam>),
    /// None by themselves: a schema describes all arguments together.
    Schema(RawSchema),
}

/// A parameter whose texts were not there when the program was compiled.
#[doc(hidden)]
#[derive(Debug)]
pub struct OwnedParam {
    name: Box<str>,
    doc: Option<Box<str>>,
    /// All but the texts.
    rest: ParamInfo<'static>,
    default: Option<Value>,
    /// Whether the argument of this name fits the type.
    check: fn(&Arguments<'_>, &str) -> Result<(), ToolError>,
}

impl OwnedParam {
    /// A parameter of type `T`.
    #[must_use]
    pub fn of<T: DeserializeOwned + JsonSchema>(name: &str, doc: Option<&str>) -> Self {
        let check = |arguments: &Arguments<'_>, name: &str| arguments.take::<T>(name).map(drop);
        Self { name: name.into(), doc: doc.map(Into::into), rest: ParamInfo::of::<T>("", None), default: None, check }
    }

    /// The same with a default.
    #[must_use]
    pub fn with_default(mut self, default: Value) -> Self {
        self.default = Some(default);
        self
    }

    fn info(&self) -> ParamInfo<'_> {
        let default = self.default.as_ref().map(ParamDefault::Given);
        ParamInfo { name: &self.name, doc: self.doc.as_deref(), default, ..self.rest }
    }

    /// What is wrong with its name, which the macro says of that of a method's parameter.
    fn problems<'p>(&self, mut earlier: impl Iterator<Item = &'p Self>) -> Vec<String> {
        let mut problems = Vec::new();
        let name = &self.name;
        if let Err(rule) = rules::tool_name(name) {
            problems.push(format!("the parameter name {name:?} is not legal: expected {rule}"));
        }
        if earlier.any(|other| other.name == *name) {
            problems.push(format!("two parameters are named `{name}`: give one of them another name"));
        }
        problems
    }

    fn check(&self, arguments: &Arguments<'_>) -> Result<(), ToolError> {
        let left_out = self.default.is_some() && arguments.get(&self.name).is_none();
        if left_out { Ok(()) } else { (self.check)(arguments, &self.name) }
    }
}

impl Params {
    /// All of them, those that come from the runtime too.
    pub fn iter(&self) -> impl Iterator<Item = ParamInfo<'_>> {
        let (fixed, owned) = match self {
            Self::Static(params) => (*params, [].as_slice()),
            Self::Owned(params) => ([].as_slice(), params.as_slice()),
            Self::Schema(_) => ([].as_slice(), [].as_slice()),
        };
        fixed.iter().copied().chain(owned.iter().map(OwnedParam::info))
    }

    /// Refuses arguments of which one does not fit. A method takes its arguments itself.
    pub(crate) fn check(&self, arguments: &Arguments<'_>) -> Result<(), ToolError> {
        match self {
            Self::Owned(params) => params.iter().try_for_each(|param| param.check(arguments)),
            Self::Static(_) | Self::Schema(_) => Ok(()),
        }
    }

    /// What is wrong with a declaration as far as no compiler has seen it: what only the types of a method know, all of
    /// one that was made at run time.
    pub(crate) fn problems(&self) -> Vec<String> {
        let mut problems = match self {
            Self::Static(_) => Vec::new(),
            Self::Schema(schema) => schema.problems(),
            Self::Owned(params) => {
                let earlier = |at| params.iter().take(at);
                params.iter().enumerate().flat_map(|(at, param)| param.problems(earlier(at))).collect()
            }
        };
        problems.extend(self.iter().enumerate().filter_map(|(at, param)| param.problem(self.iter().take(at))));
        problems
    }
}
