//! Turns the arguments of a call into an HTTP request.

mod described;
mod form;
mod path;
mod styles;

use serde_json::value::RawValue;

use crate::openapi::arguments::{ArgumentError, Members, Result, Shape};
use crate::openapi::body::{Body, BodyKind, BodyShape};
use crate::openapi::parameter::{Parameter, Place, Style};
use crate::openapi::percent;
use crate::openapi::tool::Tool;

/// A request to an API, relative to its base URL.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct RestRequest {
    /// Method, in upper case.
    pub method: &'static str,
    /// Path below the base URL, percent-encoded.
    pub path: String,
    /// Query, percent-encoded; empty if there is none.
    pub query: String,
    /// Header fields: `Accept`, cookies, and parameters.
    pub headers: Vec<(String, String)>,
    /// Body, if there is one.
    pub body: Option<RequestBody>,
}

/// The body of a request.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct RequestBody {
    /// Value of `Content-Type`.
    pub content_type: String,
    /// Bytes of the body.
    pub bytes: Vec<u8>,
}

impl Tool {
    /// Returns the request of a call with these arguments, a JSON object. Null stands for a missing parameter; in a JSON
    /// body it stays null.
    ///
    /// # Errors
    /// Returns [`ArgumentError`] if the arguments are invalid. Types are left to the API to check.
    pub fn request(&self, arguments: &str) -> Result<RestRequest> {
        let members = Members::parse(arguments)?;
        self.check_names(&members)?;
        if let Some(described) = &self.described {
            return described.write(&members);
        }
        let mut query: Vec<String> = Vec::new();
        query.extend(self.fixed_query.clone());
        let (mut headers, mut cookies) = (vec![("Accept".to_owned(), self.accept.clone())], Vec::new());
        for parameter in self.parameters.iter().filter(|parameter| parameter.place != Place::Path) {
            let Some(value) = given(&members, &parameter.argument) else { continue };
            match parameter.place {
                Place::Query => {
                    for (name, pair) in styles::encoded_pairs(parameter, value)? {
                        if self.reserved_query.iter().any(|fixed| names_parameter(&name, fixed)) {
                            return Err(ArgumentError::Reserved(parameter.argument.clone(), name));
                        }
                        query.push(pair);
                    }
                }
                Place::Header => headers.push((parameter.name.clone(), header_value(parameter, value)?)),
                Place::Cookie => {
                    for (name, value) in styles::query_pairs(parameter, value)? {
                        cookies.push(format!("{}={}", percent::encode(&name), percent::encode(&value)));
                    }
                }
                Place::Path => {}
            }
        }
        if !cookies.is_empty() {
            headers.push(("Cookie".to_owned(), cookies.join("; ")));
        }
        Ok(RestRequest {
            method: self.method,
            path: path::expand(&self.path_template, &self.parameters, &members)?,
            query: query.join("&"),
            headers,
            body: self.body.as_ref().map(|body| write_body(body, &members)).transpose()?.flatten(),
        })
    }

    /// Returns the requests of a call: one, or one for each value of a list in the path of a tool that only reads and
    /// whose description allows it. Their results are parts of one list.
    ///
    /// # Errors
    /// Returns [`ArgumentError`] if the arguments are invalid, or if there are too many values.
    pub fn requests(&self, arguments: &str) -> Result<Vec<RestRequest>> {
        let Some(described) = self.described.as_ref().filter(|_| self.is_read) else {
            return Ok(vec![self.request(arguments)?]);
        };
        let members = Members::parse(arguments)?;
        self.check_names(&members)?;
        described.arguments_of_requests(members)?.iter().map(|members| described.write(members)).collect()
    }

    fn check_names(&self, members: &Members) -> Result<()> {
        let quoted =
            |names: Vec<&str>| names.iter().map(|name| format!("`{name}`")).collect::<Vec<_>>().join(", ");
        let known = self.argument_names();
        let unknown: Vec<&str> = members.names().filter(|name| !known.contains(name)).collect();
        if !unknown.is_empty() {
            let known = if known.is_empty() { "no arguments".to_owned() } else { quoted(known) };
            return Err(ArgumentError::Unknown { unknown: quoted(unknown), known });
        }
        let is_body_member = |name: &str| self.parameters.iter().all(|parameter| parameter.argument != name);
        let missing = self.required.iter().map(String::as_str);
        let missing: Vec<&str> = missing
            .filter(|name| match members.get(name) {
                None => true,
                // In a JSON body, null is a value.
                Some(value) => value.get() == "null" && !is_body_member(name),
            })
            .collect();
        if missing.is_empty() { Ok(()) } else { Err(ArgumentError::Missing(quoted(missing))) }
    }
}

/// Returns the value of an argument, if it is not null.
fn given<'a>(members: &'a Members, argument: &str) -> Option<&'a RawValue> {
    members.get(argument).filter(|value| value.get() != "null")
}

/// Returns true if a query parameter could be read as another one: `key`, `key[]`, `KEY`.
fn names_parameter(name: &str, fixed: &str) -> bool {
    let base = name.split(['[', '.']).next().unwrap_or_default().trim();
    base.eq_ignore_ascii_case(fixed.trim_end_matches("[]")) || name.trim().eq_ignore_ascii_case(fixed)
}

fn header_value(parameter: &Parameter, value: &RawValue) -> Result<String> {
    let text = match parameter.style {
        Style::Json => value.get().split_whitespace().collect::<Vec<_>>().join(" "),
        _ => styles::simple_text(parameter, value, str::to_owned, ",")?,
    };
    let is_valid = text.bytes().all(|byte| byte == b'\t' || (b' '..=b'~').contains(&byte));
    if is_valid { Ok(text) } else { Err(ArgumentError::InvalidHeader(parameter.argument.clone())) }
}

fn write_body(body: &Body, members: &Members) -> Result<Option<RequestBody>> {
    let made = |bytes: Vec<u8>| Ok(Some(RequestBody { content_type: body.content_type.clone(), bytes }));
    let fields: Vec<(&str, &RawValue)> = match &body.shape {
        BodyShape::Members(names) => {
            let fields =
                names.iter().filter_map(|(name, argument)| Some((name.as_str(), members.get(argument)?)));
            fields.collect()
        }
        BodyShape::Whole(argument) => {
            let Some(value) = members.get(argument) else { return Ok(None) };
            match body.kind {
                BodyKind::Json => return made(value.get().as_bytes().to_vec()),
                BodyKind::Text => {
                    let text = Shape::of(value).into_scalar();
                    let text = text.ok_or_else(|| ArgumentError::WrongType(argument.clone(), "text"))?;
                    return made(text.into_bytes());
                }
                BodyKind::Binary => return made(form::decoded(argument, value)?),
                BodyKind::Form | BodyKind::Multipart => {}
            }
            let members: Members = serde_json::from_str(value.get())
                .map_err(|_| ArgumentError::WrongType(argument.clone(), "an object"))?;
            return write_fields(
                body,
                &members.0.iter().map(|(name, value)| (name.as_str(), &**value)).collect::<Vec<_>>(),
            );
        }
    };
    if fields.is_empty() && !body.is_required {
        return Ok(None);
    }
    write_fields(body, &fields)
}

fn write_fields(body: &Body, fields: &[(&str, &RawValue)]) -> Result<Option<RequestBody>> {
    let (content_type, bytes) = match body.kind {
        BodyKind::Form => (body.content_type.clone(), form::write_urlencoded(body, fields)?.into_bytes()),
        BodyKind::Multipart => form::write_multipart(body, fields)?,
        BodyKind::Json | BodyKind::Text | BodyKind::Binary => {
            let members = fields
                .iter()
                .map(|(name, value)| format!("{}:{}", serde_json::Value::from(*name), value.get()));
            let object = format!("{{{}}}", members.collect::<Vec<_>>().join(","));
            (body.content_type.clone(), object.into_bytes())
        }
    };
    Ok(Some(RequestBody { content_type, bytes }))
}
