//! Integers that are written with a point, as `2.0`.

use serde::de::DeserializeOwned;
use serde_json::{Error, Value};

/// Up to here every integer is a float too, so that one that is written with a point is known to the last digit.
const EXACT: f64 = 9_007_199_254_740_992.0;

/// A value of what `read` gives, which failed with `error`. To a JSON schema `2.0` is an integer, and models write it;
/// to a type it is none. So it is read again with integers in their places, which costs nothing where all is well.
pub(super) fn read_again<T: DeserializeOwned>(error: Error, read: impl FnOnce() -> Option<Value>) -> Result<T, Error> {
    if !error.is_data() {
        return Err(error);
    }
    let Some(mut value) = read() else { return Err(error) };
    if !write_whole(&mut value) {
        return Err(error);
    }
    // If there is still something wrong, that is told of what was sent.
    serde_json::from_value(value).map_err(|_| error)
}

/// Writes floats without a fraction as integers. Whether there are any.
fn write_whole(value: &mut Value) -> bool {
    match value {
        Value::Number(number) if number.is_f64() => {
            let whole = number.as_f64().filter(|float| float.fract() == 0.0 && float.abs() <= EXACT);
            #[allow(clippy::cast_possible_truncation, reason = "it has no fraction and is not too large")]
            let Some(whole) = whole.map(|float| float as i64) else { return false };
            *number = whole.into();
            true
        }
        // All of them: none may be passed over.
        Value::Array(values) => values.iter_mut().fold(false, |any, value| write_whole(value) | any),
        Value::Object(members) => members.values_mut().fold(false, |any, value| write_whole(value) | any),
        _ => false,
    }
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;

    #[test]
    fn whole_floats_are_integers_where_those_are_asked_for() {
        fn read<T: DeserializeOwned>(value: &Value) -> Result<T, String> {
            serde_json::from_value(value.clone())
                .or_else(|error| read_again(error, || Some(value.clone())))
                .map_err(|error| error.to_string())
        }
        assert_eq!(read::<u8>(&json!(2.0)), Ok(2));
        assert_eq!(read::<Vec<(i64, f64)>>(&json!([[-2.0, 1.5], [3, 4.0]])), Ok(vec![(-2, 1.5), (3, 4.0)]));
        assert_eq!(read::<Option<usize>>(&json!(1e3)), Ok(Some(1000)));
        // Nothing is changed in what fits as it is.
        assert_eq!(read::<Value>(&json!(2.0)), Ok(json!(2.0)));
        for wrong in [json!(2.5), json!(300.0), json!(-1.0), json!(1e300), json!("2.0"), json!([2.0])] {
            let first = serde_json::from_value::<u8>(wrong.clone()).unwrap_err().to_string();
            assert_eq!(read::<u8>(&wrong), Err(first), "{wrong}");
        }
    }
}
