//! Lists the fields that a description does not cover, by type.

use std::collections::HashMap;

use serde_json::{Map, Value};

use crate::snapshot::FieldType;

/// Name of the group of fields whose type is not known.
const UNKNOWN_TYPE: &str = "other";
/// Member that counts the fields that are not named.
const UNNAMED_KEY: &str = "more";

/// Names of the fields of one type, with the fields of one object written together.
#[derive(Default)]
struct FieldGroup<'a> {
    /// Object and its fields, in the order of the first one.
    objects: Vec<(&'a str, Vec<&'a str>)>,
}

/// Returns the fields by type, in at most this many characters: `{"number":"size,owner.{id,age}","more":12}`.
pub(crate) fn fields_by_type(
    names: &[&String],
    types: &HashMap<String, FieldType>,
    characters: usize,
) -> Map<String, Value> {
    let mut groups: Vec<(&'static str, FieldGroup<'_>)> = Vec::new();
    let mut left = characters;
    let mut unnamed = 0;
    for name in names {
        let kind = types.get(name.as_str()).map_or(UNKNOWN_TYPE, |kind| kind.name());
        let place = groups.iter().position(|(known, _)| *known == kind);
        let cost = place.map_or(kind.len() + 6 + name.len(), |place| groups[place].1.cost(name));
        let Some(rest) = left.checked_sub(cost).filter(|_| unnamed == 0) else {
            unnamed += 1;
            continue;
        };
        left = rest;
        let place = place.unwrap_or_else(|| {
            groups.push((kind, FieldGroup::default()));
            groups.len() - 1
        });
        groups[place].1.add(name);
    }
    let mut fields: Map<String, Value> =
        groups.into_iter().map(|(kind, group)| (kind.to_owned(), group.text().into())).collect();
    if unnamed > 0 {
        fields.insert(UNNAMED_KEY.to_owned(), unnamed.into());
    }
    fields
}

impl<'a> FieldGroup<'a> {
    /// Adds a field.
    fn add(&mut self, name: &'a str) {
        let (object, own) = split_name(name);
        match self.objects.iter_mut().find(|(known, _)| *known == object && !object.is_empty()) {
            Some((_, fields)) => fields.push(own),
            None => self.objects.push((object, vec![own])),
        }
    }

    /// Returns the characters that a further field takes.
    fn cost(&self, name: &str) -> usize {
        let (object, own) = split_name(name);
        let is_known = !object.is_empty() && self.objects.iter().any(|(known, _)| *known == object);
        2 + if is_known { own.len() } else { name.len() }
    }

    /// Returns the names: `size,owner.{id,age}`.
    fn text(&self) -> String {
        let written = |(object, fields): &(&str, Vec<&str>)| match (object.is_empty(), fields.as_slice()) {
            (true, fields) => fields.join(","),
            (false, [field]) => format!("{object}.{field}"),
            (false, fields) => format!("{object}.{{{}}}", fields.join(",")),
        };
        self.objects.iter().map(written).collect::<Vec<_>>().join(",")
    }
}

/// Returns the object and the name of a field in it: `owner`, `id`. A name that could be read as several stays whole.
fn split_name(name: &str) -> (&str, &str) {
    let is_plain = !name.contains([',', '{', '}']);
    name.rsplit_once('.')
        .filter(|(object, own)| is_plain && !object.is_empty() && !own.is_empty())
        .unwrap_or(("", name))
}

#[cfg(test)]
mod tests {
    use std::collections::HashMap;

    use serde_json::{Map, Value, json};

    use super::fields_by_type;
    use crate::snapshot::FieldType;

    /// Returns the fields by type, where a name with `id` is a number and one with `name` a string.
    fn by_type(names: &[&str], characters: usize) -> Map<String, Value> {
        let names: Vec<String> = names.iter().map(|name| (*name).to_owned()).collect();
        let types: HashMap<String, FieldType> = names
            .iter()
            .filter(|name| name.ends_with("id") || name.ends_with("name"))
            .map(|name| {
                (name.clone(), if name.ends_with("id") { FieldType::Number } else { FieldType::String })
            })
            .collect();
        fields_by_type(&names.iter().collect::<Vec<_>>(), &types, characters)
    }

    #[test]
    fn fields_of_one_object_are_written_together() {
        let fields =
            by_type(&["id", "user.name", "user.id", "full_name", "user.full_name", "team.id", "x"], 200);
        let expected = json!({"number": "id,user.id,team.id", "string": "user.{name,full_name},full_name", "other": "x"});
        assert_eq!(Value::Object(fields), expected);
    }

    #[test]
    fn fields_that_do_not_fit_are_counted() {
        let fields = by_type(&["id", "a.id", "b.id", "c.id"], 20);
        assert_eq!(Value::Object(fields), json!({"number": "id,a.id", "more": 2}));
        assert_eq!(Value::Object(by_type(&["id"], 0)), json!({"more": 1}));
    }

    #[test]
    fn ambiguous_names_stay_whole() {
        let fields = by_type(&["a.b,id", "a.{id", "a..id", ".id", "a.id"], 200);
        assert_eq!(Value::Object(fields), json!({"number": "a.b,id,a.{id,a..id,.id,a.id"}));
    }
}
