//! Whether alternatives can be told apart: by every value, so that "one of them" and "any of them" say the same, and by
//! how they begin.

use std::collections::HashSet;

use serde_json::{Map, Value};

use super::{
    budget::Budget,
    merge::{strings, types},
};

/// Whether no value fits both of two forms of strict mode, in which all objects are closed, and require
/// what the canonical schema requires.
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
    let lacks = |other: &Value, name: &str| other.get("properties").is_none_or(|all| all.get(name).is_none());
    // What has to be in the one, and cannot be in the other.
    let only = |one: &Value, other: &Value| strings(one.get("required")).iter().any(|name| lacks(other, name));
    let own = a.get("properties").and_then(Value::as_object).into_iter().flatten();
    let theirs = |name: &str| b.get("properties").and_then(|all| all.get(name));
    own.into_iter().any(|(name, own)| theirs(name).is_some_and(|theirs| exclusive(own, theirs, budget)))
        || only(a, b)
        || only(b, a)
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
}
