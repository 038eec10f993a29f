//! The keywords of JSON Schema that are kept, and the values that each may have.
//!
//! Published documents have keywords with values that no validator accepts, and one of them would make the whole tool
//! invalid. Such a keyword is left out: a schema without it accepts more.

use serde_json::Value;

/// Allowed values of a keyword.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum KeywordKind {
    Schema,
    SchemaMap,
    SchemaList,
    Type,
    Number,
    PositiveNumber,
    Size,
    Boolean,
    Text,
    Pattern,
    Names,
    NamesMap,
    Values,
    Any,
}

use KeywordKind as Kind;

const KEYWORDS: &[(&str, KeywordKind)] = &[
    ("type", Kind::Type),
    ("description", Kind::Text),
    ("properties", Kind::SchemaMap),
    ("required", Kind::Names),
    ("items", Kind::Schema),
    ("enum", Kind::Values),
    ("const", Kind::Any),
    ("default", Kind::Any),
    ("format", Kind::Text),
    ("additionalProperties", Kind::Schema),
    ("allOf", Kind::SchemaList),
    ("anyOf", Kind::SchemaList),
    ("oneOf", Kind::SchemaList),
    ("not", Kind::Schema),
    ("minimum", Kind::Number),
    ("maximum", Kind::Number),
    ("exclusiveMinimum", Kind::Number),
    ("exclusiveMaximum", Kind::Number),
    ("multipleOf", Kind::PositiveNumber),
    ("minLength", Kind::Size),
    ("maxLength", Kind::Size),
    ("pattern", Kind::Pattern),
    ("minItems", Kind::Size),
    ("maxItems", Kind::Size),
    ("uniqueItems", Kind::Boolean),
    ("minProperties", Kind::Size),
    ("maxProperties", Kind::Size),
    ("prefixItems", Kind::SchemaList),
    ("contains", Kind::Schema),
    ("minContains", Kind::Size),
    ("maxContains", Kind::Size),
    ("patternProperties", Kind::SchemaMap),
    ("propertyNames", Kind::Schema),
    ("dependentRequired", Kind::NamesMap),
    ("dependentSchemas", Kind::SchemaMap),
    ("if", Kind::Schema),
    ("then", Kind::Schema),
    ("else", Kind::Schema),
    ("contentEncoding", Kind::Text),
    ("contentMediaType", Kind::Text),
];

const TYPES: [&str; 7] = ["string", "number", "integer", "boolean", "array", "object", "null"];

/// Returns the kind of a keyword; `None` if it is left out.
pub(crate) fn kind_of(keyword: &str) -> Option<KeywordKind> {
    KEYWORDS.iter().find(|(name, _)| *name == keyword).map(|(_, kind)| *kind)
}

/// Returns the value of a keyword that holds no schemas, mended if possible; `None` if it is invalid.
pub(crate) fn plain_value(kind: KeywordKind, value: &Value) -> Option<Value> {
    match kind {
        Kind::Number => value.is_number().then(|| value.clone()),
        Kind::PositiveNumber => value.as_f64().is_some_and(|number| number > 0.0).then(|| value.clone()),
        Kind::Size => value.as_u64().map(Value::from),
        Kind::Boolean => value.is_boolean().then(|| value.clone()),
        Kind::Text => value.is_string().then(|| value.clone()),
        Kind::Pattern => value.as_str().filter(|pattern| is_portable_pattern(pattern)).map(Value::from),
        Kind::Names => names(value),
        Kind::NamesMap => {
            let map = value.as_object()?.iter().map(|(name, value)| Some((name.clone(), names(value)?)));
            map.collect::<Option<_>>().map(Value::Object)
        }
        Kind::Values => value.as_array().filter(|values| !values.is_empty()).map(|values| unique(values)),
        Kind::Type => types(value),
        Kind::Any => Some(value.clone()),
        Kind::Schema | Kind::SchemaMap | Kind::SchemaList => None,
    }
}

fn types(value: &Value) -> Option<Value> {
    let known = |value: &Value| value.as_str().filter(|name| TYPES.contains(name)).map(Value::from);
    match value {
        Value::Array(all) => {
            let all = all.iter().map(known).collect::<Option<Vec<_>>>()?;
            (!all.is_empty()).then(|| unique(&all))
        }
        one => known(one),
    }
}

fn names(value: &Value) -> Option<Value> {
    let all = value.as_array()?;
    all.iter().all(Value::is_string).then(|| unique(all))
}

fn unique(values: &[Value]) -> Value {
    let mut kept: Vec<Value> = Vec::with_capacity(values.len());
    for value in values {
        // Longer lists are rare, and duplicates in them are harmless to most validators.
        if kept.len() > 1000 || !kept.contains(value) {
            kept.push(value.clone());
        }
    }
    Value::Array(kept)
}

/// Returns true for a pattern without constructs that only some dialects of regular expressions have.
fn is_portable_pattern(pattern: &str) -> bool {
    const GROUPS: [&str; 6] = ["(?:", "(?=", "(?!", "(?<=", "(?<!", "(?<"];
    let has_odd_group = pattern
        .match_indices("(?")
        .any(|(at, _)| !GROUPS.iter().any(|group| pattern[at..].starts_with(group)));
    let has_odd_escape = ["\\A", "\\Z", "\\z", "\\p", "\\P", "\\h", "\\Q", "[[:", "++", "*+", "?+"]
        .iter()
        .any(|odd| pattern.contains(odd));
    // `/…/i` is a literal of JavaScript, not a pattern.
    let is_literal = pattern.len() > 1
        && pattern.starts_with('/')
        && pattern
            .rsplit('/')
            .next()
            .is_some_and(|flags| flags.bytes().all(|flag| b"gimsuy".contains(&flag)));
    !has_odd_group && !has_odd_escape && !is_literal && has_balanced_brackets(pattern)
}

fn has_balanced_brackets(pattern: &str) -> bool {
    let (mut open, mut in_class, mut escaped) = (0_usize, false, false);
    for c in pattern.chars() {
        match c {
            _ if escaped => escaped = false,
            '\\' => escaped = true,
            '[' if !in_class => in_class = true,
            ']' => in_class = false,
            '(' if !in_class => open += 1,
            ')' if !in_class => match open.checked_sub(1) {
                Some(left) => open = left,
                None => return false,
            },
            _ => {}
        }
    }
    open == 0 && !in_class && !escaped
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::{kind_of, plain_value};

    #[test]
    fn invalid_values_are_left_out() {
        let check = |keyword: &str, value: serde_json::Value, expect: Option<serde_json::Value>| {
            assert_eq!(plain_value(kind_of(keyword).expect("known"), &value), expect, "{keyword}");
        };
        check("required", json!(true), None);
        check("required", json!(["a", "a"]), Some(json!(["a"])));
        check("type", json!("int"), None);
        check("type", json!(["string", "null", "null"]), Some(json!(["string", "null"])));
        check("minimum", json!("1"), None);
        check("maxLength", json!(-1), None);
        check("multipleOf", json!(0), None);
        check("enum", json!([]), None);
        check("pattern", json!("(?i)a"), None);
        check("pattern", json!("/^a$/"), None);
        check("pattern", json!("(a"), None);
        check("pattern", json!("^(?:a|[)(])+\\($"), Some(json!("^(?:a|[)(])+\\($")));
        assert_eq!(kind_of("discriminator"), None);
    }
}
