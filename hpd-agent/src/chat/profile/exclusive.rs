//! Whether alternatives can be told apart: by every value, so that "one of them" and "any of them" say the same, and by
//! how they begin.

use std::collections::HashSet;

use serde_json::{Map, Value};

use super::{budget::Budget, merge::types};

/// Whether no value fits both of two forms of strict mode, in which all objects are closed.
pub(super) fn exclusive(a: &Value, b: &Value, budget: &mut Budget) -> bool {
    if !budget.compare(1) {
        return false;
    }
    for (one, other) in [(a, b), (b, a)] {
        if let Some(branches) = one.get("anyOf").and_then(Value::as_array) {
            return branches.iter().all(|branch| exclusive(branch, other, budget));
        }
    }
    let (Some(types_of_a), Some(types_of_b)) = (a.get("type").and_then(types), b.get("type").and_then(types)) else {
        return false;
    };
    let numeric = |name: &str| matches!(name, "integer" | "number");
    let shared: Vec<&str> = types_of_a
        .into_iter()
        .filter(|own| types_of_b.iter().any(|name| name == own || numeric(name) && numeric(own)))
        .collect();
    if shared.is_empty() {
        return true;
    }
    match (a.get("enum").and_then(Value::as_array), b.get("enum").and_then(Value::as_array)) {
        (Some(a), Some(b)) => {
            let known: HashSet<&Value> = b.iter().collect();
            budget.compare(a.len() + b.len()) && !a.iter().any(|value| known.contains(value))
        }
        _ => shared == ["object"] && objects_differ(a, b, budget),
    }
}

fn objects_differ(a: &Value, b: &Value, budget: &mut Budget) -> bool {
    let none = Map::new();
    let (a, b) = [a, b].map(|schema| schema.get("properties").and_then(Value::as_object).unwrap_or(&none)).into();
    // Every property of such an object is required, and there are no others.
    a.iter().any(|(name, own)| b.get(name).is_none_or(|theirs| exclusive(own, theirs, budget)))
        || b.keys().any(|name| !a.contains_key(name))
}

/// Puts first, in each of several objects, a property that none of the others has, or has with another fixed value.
/// `false`: there is one without such a property.
pub(super) fn begin_differently(forms: &mut [Value], budget: &mut Budget) -> bool {
    let properties = |form: &Value| form.get("properties").and_then(Value::as_object).cloned().unwrap_or_default();
    let all: Vec<Map<String, Value>> = forms.iter().map(properties).collect();
    let mut differs = |name: &str, value: &Value, other: &Map<String, Value>| {
        budget.compare(1)
            && other.get(name).is_none_or(|theirs| {
                value.get("enum").is_some() && theirs.get("enum").is_some() && exclusive(value, theirs, budget)
            })
    };
    let mut apart = true;
    for (index, (form, own)) in forms.iter_mut().zip(&all).enumerate() {
        let others = || all.iter().enumerate().filter(|(at, _)| *at != index).map(|(_, other)| other);
        match own.iter().find(|(name, value)| others().all(|other| differs(name, value, other))) {
            Some((name, _)) => put_first(form, name),
            None => apart &= own.is_empty(),
        }
    }
    apart
}

fn put_first(form: &mut Value, name: &str) {
    if let Some(properties) = form.get_mut("properties").and_then(Value::as_object_mut) {
        let all = std::mem::take(properties);
        let (first, rest): (Vec<_>, Vec<_>) = all.into_iter().partition(|(own, _)| own == name);
        properties.extend(first.into_iter().chain(rest));
    }
    if let Some(required) = form.get_mut("required").and_then(Value::as_array_mut) {
        required.sort_by_key(|own| own != name);
    }
}
