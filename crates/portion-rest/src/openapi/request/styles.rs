//! Writes values of parameters in the styles of `OpenAPI`.

use serde_json::value::RawValue;

use crate::openapi::arguments::{ArgumentError, Members, Shape};
use crate::openapi::parameter::{Parameter, Style};
use crate::openapi::percent;

/// Deepest nesting of a `deepObject`.
const MAX_DEPTH: usize = 16;

/// Returns a value in the simple style: items separated, members as `k,v` or `k=v`.
pub(super) fn simple_text(
    parameter: &Parameter,
    value: &RawValue,
    encode: impl Fn(&str) -> String,
    separator: &str,
) -> Result<String, ArgumentError> {
    let too_deep = || ArgumentError::TooDeep(parameter.argument.clone(), parameter.place.name());
    let plain =
        |value: &RawValue| Shape::of(value).into_scalar().map(|text| encode(&text)).ok_or_else(too_deep);
    match Shape::of(value) {
        Shape::Object(members) => {
            let between = if parameter.explode { "=" } else { "," };
            let parts = members
                .0
                .iter()
                .map(|(name, value)| Ok(format!("{}{between}{}", encode(name), plain(value)?)));
            Ok(parts.collect::<Result<Vec<_>, _>>()?.join(separator))
        }
        shape => {
            let texts = shape.into_texts().ok_or_else(too_deep)?;
            Ok(texts.iter().map(|text| encode(text)).collect::<Vec<_>>().join(separator))
        }
    }
}

/// Returns the names and values of a query parameter or cookie, not encoded.
pub(super) fn query_pairs(parameter: &Parameter, value: &RawValue) -> Pairs {
    let Parameter { argument, place, name, style, explode, .. } = parameter;
    pairs(argument, place.name(), name, *style, *explode, value)
}

/// Names and values.
pub(super) type Pairs = Result<Vec<(String, String)>, ArgumentError>;

/// Returns the names and values of a parameter or form field, not encoded.
pub(super) fn pairs(
    argument: &str,
    place: &'static str,
    name: &str,
    style: Style,
    explode: bool,
    value: &RawValue,
) -> Pairs {
    let too_deep = || ArgumentError::TooDeep(argument.to_owned(), place);
    let plain = |value: &RawValue| Shape::of(value).into_scalar().ok_or_else(too_deep);
    let one = |text: String| Ok(vec![(name.to_owned(), text)]);
    if style == Style::Json {
        return one(value.get().to_owned());
    }
    let separator = match style {
        Style::Space => " ",
        Style::Tab => "\t",
        Style::Pipe => "|",
        _ => ",",
    };
    match Shape::of(value) {
        Shape::Null => Ok(Vec::new()),
        Shape::Scalar(text) => one(text),
        shape @ (Shape::List(_) | Shape::Object(_)) if style == Style::DeepObject => {
            let mut pairs = Vec::new();
            deep_pairs(name.to_owned(), shape, MAX_DEPTH, &mut pairs).ok_or_else(too_deep)?;
            Ok(pairs)
        }
        Shape::List(items) if items.is_empty() => Ok(Vec::new()),
        shape @ Shape::List(_) => {
            let texts = shape.into_texts().ok_or_else(too_deep)?;
            if explode {
                return Ok(texts.into_iter().map(|text| (name.to_owned(), text)).collect());
            }
            one(texts.join(separator))
        }
        Shape::Object(Members(members)) if explode => {
            members.iter().map(|(name, value)| Ok((name.clone(), plain(value)?))).collect()
        }
        Shape::Object(Members(members)) if members.is_empty() => Ok(Vec::new()),
        Shape::Object(Members(members)) => {
            let parts = members.iter().map(|(name, value)| Ok(format!("{name}{separator}{}", plain(value)?)));
            one(parts.collect::<Result<Vec<_>, _>>()?.join(separator))
        }
    }
}

/// Adds `name[key]=value` for every plain value; `None` if the nesting is too deep.
fn deep_pairs(name: String, shape: Shape, depth: usize, pairs: &mut Vec<(String, String)>) -> Option<()> {
    let depth = depth.checked_sub(1)?;
    match shape {
        Shape::Null => pairs.push((name, String::new())),
        Shape::Scalar(text) => pairs.push((name, text)),
        Shape::List(items) => {
            for (index, item) in items.iter().enumerate() {
                let item = Shape::of(item);
                let is_plain = matches!(item, Shape::Null | Shape::Scalar(_));
                let name = if is_plain { format!("{name}[]") } else { format!("{name}[{index}]") };
                deep_pairs(name, item, depth, pairs)?;
            }
        }
        Shape::Object(Members(members)) => {
            for (key, value) in &members {
                deep_pairs(format!("{name}[{key}]"), Shape::of(value), depth, pairs)?;
            }
        }
    }
    Some(())
}

/// Returns the names of a query parameter, and `name=value` of each, encoded. A comma inside an item of a list is
/// escaped, those between items are not.
pub(super) fn encoded_pairs(parameter: &Parameter, value: &RawValue) -> Pairs {
    let pairs = query_pairs(parameter, value)?;
    let is_container = matches!(Shape::of(value), Shape::List(_) | Shape::Object(_));
    let is_joined =
        is_container && parameter.style == Style::Form && !parameter.explode && !parameter.allow_reserved;
    if is_joined && !pairs.is_empty() {
        let text = simple_text(parameter, value, percent::encode, ",")?;
        let pair = format!("{}={text}", percent::encode(&parameter.name));
        return Ok(vec![(parameter.name.clone(), pair)]);
    }
    let encoded = pairs.into_iter().map(|(name, value)| {
        let pair = encoded_pair(parameter, &name, &value);
        (name, pair)
    });
    Ok(encoded.collect())
}

/// Returns `name=value`, encoded for a query.
fn encoded_pair(parameter: &Parameter, name: &str, value: &str) -> String {
    // Brackets in names are read in either form; commas stay readable.
    let name = percent::encode(name);
    let value = if parameter.allow_reserved {
        percent::encode_reserved(value)
    } else {
        percent::encode(value).replace("%2C", ",")
    };
    format!("{name}={value}")
}
