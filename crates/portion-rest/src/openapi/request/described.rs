//! Turns the arguments of a described tool into a request.

use portion_policy::tool_description::{
    ArgumentDescription, ArgumentPlace, BodyEncoding, PathGroup, PathPiece,
};
use serde_json::Value;
use serde_json::value::RawValue;

use super::{RequestBody, RestRequest, given, names_parameter, path};
use crate::openapi::arguments::{ArgumentError, Members, Result, Shape};
use crate::openapi::described::{RequestTemplate, takes_object};
use crate::openapi::percent;

/// Value of `Accept`.
const ACCEPT: &str = "application/json, */*;q=0.1";
const FORM_TYPE: &str = "application/x-www-form-urlencoded";

impl RequestTemplate {
    /// Returns the request of a call with these arguments, whose names are known.
    pub(super) fn write(&self, members: &Members) -> Result<RestRequest> {
        Ok(RestRequest {
            method: self.description.method,
            path: self.path(members)?,
            query: self.query(members)?,
            headers: vec![("Accept".to_owned(), ACCEPT.to_owned())],
            body: self.body(members)?,
        })
    }

    fn path(&self, members: &Members) -> Result<String> {
        let mut path = String::new();
        for group in &self.path.groups {
            match written_group(group, members)? {
                Ok(text) => path.push_str(&text),
                Err(_) if group.is_optional => {}
                Err(missing) => return Err(ArgumentError::Missing(format!("`{missing}`"))),
            }
        }
        Ok(path)
    }

    fn query(&self, members: &Members) -> Result<String> {
        let fixed = self.description.query.iter();
        let mut pairs: Vec<String> = fixed.map(|(name, value)| pair(name, &percent::encode(value))).collect();
        for (argument, value) in self.given(members, ArgumentPlace::Query) {
            let Shape::Object(object) = Shape::of(value) else {
                pairs.extend(query_value(argument, value)?.map(|text| pair(&argument.sent_as, &text)));
                continue;
            };
            // The members of an object are parameters of any name, which only the description can allow.
            if !takes_object(argument) {
                let expected = "text, a number, true or false, or a list of these";
                return Err(ArgumentError::WrongType(argument.name.clone(), expected));
            }
            for (name, value) in &object.0 {
                if self.path.has_member(&argument.name, name) {
                    continue;
                }
                self.check_member(argument, name)?;
                pairs.extend(query_value(argument, value)?.map(|text| pair(name, &text)));
            }
        }
        Ok(pairs.join("&"))
    }

    /// Checks that a member of an object sets no parameter that is configured, or that another argument sets.
    fn check_member(&self, argument: &ArgumentDescription, member: &str) -> Result<()> {
        let is_named = |fixed: &String| names_parameter(member, fixed);
        let mut fixed = self.description.query.iter().map(|(name, _)| name);
        if self.reserved_query.iter().any(is_named) || fixed.any(is_named) {
            return Err(ArgumentError::Reserved(argument.name.clone(), member.to_owned()));
        }
        let mut others = self.description.arguments.iter().filter(|other| other.name != argument.name);
        match others.find(|other| is_named(&other.sent_as)) {
            Some(owner) => Err(ArgumentError::MemberOfArgument {
                argument: argument.name.clone(),
                member: member.to_owned(),
                owner: owner.name.clone(),
            }),
            None => Ok(()),
        }
    }

    fn body(&self, members: &Members) -> Result<Option<RequestBody>> {
        let has_body = !self.description.body.is_empty()
            || self.description.arguments.iter().any(|argument| argument.place == ArgumentPlace::Body);
        if !has_body {
            return Ok(None);
        }
        let given = self.given(members, ArgumentPlace::Body);
        let (content_type, text) = match self.description.body_encoding {
            BodyEncoding::Json => {
                let fixed = self.description.body.iter();
                let fixed = fixed.map(|(name, value)| member(name, &value.to_string()));
                let members = given.map(|(argument, value)| {
                    let is_single = argument.is_list && !matches!(Shape::of(value), Shape::List(_));
                    let json = if is_single { format!("[{}]", value.get()) } else { value.get().to_owned() };
                    member(&argument.sent_as, &json)
                });
                let members: Vec<String> = fixed.chain(members).collect();
                ("application/json", format!("{{{}}}", members.join(",")))
            }
            BodyEncoding::Form => {
                let fixed = self.description.body.iter();
                let text = |value: &Value| value.as_str().map_or_else(|| value.to_string(), str::to_owned);
                let mut pairs: Vec<String> =
                    fixed.map(|(name, value)| pair(name, &percent::encode(&text(value)))).collect();
                for (argument, value) in given {
                    for text in plain_texts(argument, value, "body")? {
                        pairs.push(pair(&argument.sent_as, &percent::encode(&text)));
                    }
                }
                (FORM_TYPE, pairs.join("&"))
            }
        };
        Ok(Some(RequestBody { content_type: content_type.to_owned(), bytes: text.into_bytes() }))
    }

    /// Yields the given arguments of a place, without those that are null.
    fn given<'a>(
        &'a self,
        members: &'a Members,
        place: ArgumentPlace,
    ) -> impl Iterator<Item = (&'a ArgumentDescription, &'a RawValue)> {
        let arguments = self.description.arguments.iter().filter(move |argument| argument.place == place);
        arguments.filter_map(|argument| Some((argument, given(members, &argument.name)?)))
    }
}

/// Writes a group of a path. The inner error is the name of a missing argument.
fn written_group(group: &PathGroup, members: &Members) -> Result<Result<String, String>> {
    let mut text = String::new();
    for piece in &group.pieces {
        match piece {
            PathPiece::Text(fixed) => text.push_str(&percent::encode_template(fixed)),
            PathPiece::Argument { name, member, .. } => {
                let full = member.as_ref().map_or_else(|| name.clone(), |member| format!("{name}.{member}"));
                match path_value(members, name, member.as_deref(), &full)? {
                    Some(value) => text.push_str(&value),
                    None => return Ok(Err(full)),
                }
            }
        }
    }
    Ok(Ok(text))
}

/// Returns the value of an argument in the path, or `None` if it is missing. Each item of a list is a segment.
fn path_value(members: &Members, name: &str, member: Option<&str>, full: &str) -> Result<Option<String>> {
    let Some(value) = given(members, name) else { return Ok(None) };
    let texts = match (member, Shape::of(value)) {
        (Some(member), Shape::Object(object)) => {
            let Some(value) = given(&object, member) else { return Ok(None) };
            let text = Shape::of(value).into_scalar();
            vec![text.ok_or_else(|| {
                ArgumentError::WrongType(full.to_owned(), "a single value; call once for each value")
            })?]
        }
        (Some(_), _) => return Err(ArgumentError::WrongType(name.to_owned(), "an object")),
        (None, shape) => shape.into_texts().ok_or_else(|| ArgumentError::TooDeep(full.to_owned(), "path"))?,
    };
    if texts.is_empty() {
        return Ok(None);
    }
    for text in &texts {
        path::check(full, text)?;
    }
    Ok(Some(texts.iter().map(|text| percent::encode(text)).collect::<Vec<_>>().join("/")))
}

/// Returns a value of the query, encoded, the items of a list separated by commas; `None` for null and empty lists.
fn query_value(argument: &ArgumentDescription, value: &RawValue) -> Result<Option<String>> {
    if value.get() == "null" {
        return Ok(None);
    }
    let texts = plain_texts(argument, value, "query")?;
    let texts: Vec<String> = texts.iter().map(|text| percent::encode(text)).collect();
    Ok(Some(texts.join(",")).filter(|_| !texts.is_empty()))
}

fn plain_texts(argument: &ArgumentDescription, value: &RawValue, place: &'static str) -> Result<Vec<String>> {
    let texts = Shape::of(value).into_texts();
    texts.ok_or_else(|| ArgumentError::TooDeep(argument.name.clone(), place))
}

fn pair(name: &str, encoded: &str) -> String {
    format!("{}={encoded}", percent::encode(name))
}

fn member(name: &str, json: &str) -> String {
    format!("{}:{json}", Value::from(name))
}
