//! Parses the gateway's own parameters (controls) out of a call's arguments; the other arguments keep their
//! bytes.

use portion_core::paging::PagingRole;
use portion_core::policy::Policy;
use portion_core::view::{ControlNames, Request, ViewError};
use portion_gateway::call::Fault;
use portion_json::scan::{JsonKind, minify, quote, unescape};
use portion_json::span::Span;
use portion_policy::upstream::{Parameter, decode_component, parameters};

use super::argument_names::{ReadArgument, read_argument, regex_between_slashes, unknown_argument};
use super::walk::{self, Member, Sequence, Splice};

/// Depth from which arguments are compared as written, without sorting their keys.
const MAX_SORT_DEPTH: usize = 32;

/// Returns true if an argument has the name of a control.
pub(super) fn has_control(text: &str, arguments: Span, names: &ControlNames) -> bool {
    walk::members(text, arguments).iter().any(|m| names.control(&unescape(m.key.slice(text))).is_some())
}

/// Largest number of argument names recorded per call.
const MAX_ARGUMENT_NAMES: usize = 32;

/// Returns the names of the arguments for the records; never a value.
pub(super) fn argument_names(text: &str, arguments: Span) -> Vec<String> {
    let members = walk::members(text, arguments);
    members
        .iter()
        .take(MAX_ARGUMENT_NAMES)
        .map(|m| unescape(m.key.slice(text)).chars().take(64).collect())
        .collect()
}

/// Returns a cursor that the gateway `has_issued`: the value of `cursor`, or of an argument with the name of one.
pub(super) fn cursor_argument(
    text: &str,
    arguments: Span,
    has_issued: impl Fn(&str) -> bool,
) -> Option<String> {
    let is_cursor = |member: &Member| {
        PagingRole::of(&unescape(member.key.slice(text))) == Some(PagingRole::Cursor)
            && walk::kind(text, member.value) == JsonKind::String
    };
    let members = walk::members(text, arguments).into_iter().filter(is_cursor);
    members.map(|member| unescape(member.value.slice(text))).find(|value| has_issued(value))
}

/// Removes the controls for whose names `ours` returns true from the arguments. If one is written in another way, that
/// name has to be ours as well.
///
/// Returns the request, and the other arguments in a canonical form that is equal for equal arguments.
///
/// # Errors
/// The first invalid control.
pub(super) fn split_controls(
    splice: &mut Splice<'_>,
    text: &str,
    arguments: Span,
    (names, ours): (&ControlNames, impl Fn(&str) -> bool),
    policy: &Policy,
) -> Result<(Request, String), ViewError> {
    let members = walk::members(text, arguments);
    let mut request = Request::default();
    let mut taken = Vec::with_capacity(members.len());
    for Member { key, value } in &members {
        let name = unescape(key.slice(text));
        let is_ours = |control: &&str| ours(&name) && names.listed(control).is_some_and(&ours);
        let control = names.control(&name).filter(is_ours);
        taken.push(match control {
            Some(control) => request.set_control(control, value.slice(text), policy)?,
            None => false,
        });
    }
    request.check()?;
    splice.edit_sequence(&Sequence::of_members(arguments, &members), |i| !taken[i], &[]);
    let rest: Vec<Member> =
        members.into_iter().zip(&taken).filter(|(_, taken)| !**taken).map(|(m, _)| m).collect();
    let mut canonical = String::new();
    write_sorted_object(text, rest, 0, &mut canonical);
    Ok((request, canonical))
}

/// Returns the canonical form of arguments, a JSON object.
pub(super) fn canonical_arguments(arguments: &str) -> String {
    let mut canonical = String::new();
    write_sorted_object(
        arguments,
        walk::members(arguments, walk::document_span(arguments)),
        0,
        &mut canonical,
    );
    canonical
}

/// Parses the arguments of a built-in tool that reads a result: controls, and the arguments of a query.
///
/// # Errors
/// An invalid argument, or one that is not known.
pub fn parse_read_arguments(arguments: &str, policy: &Policy) -> Result<Request, Fault> {
    let mut request = Request::default();
    for Member { key, value } in walk::members(arguments, walk::document_span(arguments)) {
        let (name, json) = (unescape(key.slice(arguments)), value.slice(arguments));
        let is_known = match read_argument(&name) {
            ReadArgument::Control(control) => request.set_control(control, json, policy)?,
            ReadArgument::Query(argument) => request.query.set_argument(argument, json)?,
            ReadArgument::Regex => request.query.set_argument("find", &regex_between_slashes(json))?,
            ReadArgument::Lines => request.set_lines(&name, json).map(|()| true)?,
            ReadArgument::All => request.set_all(json).map(|()| true)?,
            ReadArgument::Unknown => walk::kind(arguments, value) == JsonKind::Null,
        };
        if !is_known {
            return Err(unknown_argument(&name));
        }
    }
    request.check()?;
    Ok(request)
}

/// Writes a minified object with sorted keys.
fn write_sorted_object(text: &str, mut members: Vec<Member>, depth: usize, out: &mut String) {
    members.sort_by_cached_key(|member| unescape(member.key.slice(text)));
    out.push('{');
    for (i, Member { key, value }) in members.into_iter().enumerate() {
        if i > 0 {
            out.push(',');
        }
        out.push_str(&quote(&unescape(key.slice(text))));
        out.push(':');
        write_canonical(text, value, depth + 1, out);
    }
    out.push('}');
}

fn write_canonical(text: &str, value: Span, depth: usize, out: &mut String) {
    match walk::kind(text, value) {
        JsonKind::Object if depth < MAX_SORT_DEPTH => {
            write_sorted_object(text, walk::members(text, value), depth, out);
        }
        JsonKind::Array if depth < MAX_SORT_DEPTH => {
            out.push('[');
            for (i, item) in walk::items(text, value).into_iter().enumerate() {
                if i > 0 {
                    out.push(',');
                }
                write_canonical(text, item, depth + 1, out);
            }
            out.push(']');
        }
        _ => minify(value.slice(text), out),
    }
}

/// Characters of an unknown name that an error repeats.
const MAX_NAME_CHARS: usize = 64;

/// Returns the cursor of a read URI without its prefix.
pub(super) fn read_uri_cursor(suffix: &str) -> String {
    decode_component(suffix.split(['#', '?']).next().unwrap_or_default())
}

/// Parses cursor and query of a read URI without its prefix. The fragment only distinguishes entries of one
/// reply, and is ignored.
///
/// # Errors
/// An invalid control, or a name that is not a control.
pub(super) fn parse_read_uri(suffix: &str, policy: &Policy) -> Result<Request, ViewError> {
    let suffix = suffix.split('#').next().unwrap_or_default();
    let query = suffix.split_once('?').map_or("", |(_, query)| query);
    let mut request = Request::default();
    for Parameter { name, value, .. } in parameters(query) {
        if name == "cursor" || !request.set_control(&name, &quote(&value), policy)? {
            return Err(ViewError::UnknownArgument(name.chars().take(MAX_NAME_CHARS).collect()));
        }
    }
    request.check()?;
    request.cursor = Some(read_uri_cursor(suffix));
    Ok(request)
}

#[cfg(test)]
mod tests {
    use portion_core::policy::Policy;
    use portion_core::view::{Query, Request};

    use super::super::walk::{self, Splice};
    use super::{ControlNames, has_control, parse_read_arguments, split_controls};

    /// `expect`: the forwarded arguments, their canonical form, and the limit.
    fn check(arguments: &str, expect: (&str, &str, Option<u32>)) {
        let mut splice = Splice::new(arguments);
        let ours = |name: &str| name != "fields";
        let all = walk::document_span(arguments);
        let names = ControlNames::default();
        let (request, canonical) =
            split_controls(&mut splice, arguments, all, (&names, ours), &Policy::default())
                .expect("good controls");
        assert_eq!((splice.apply().as_str(), canonical.as_str(), request.limit), expect, "{arguments}");
    }

    #[test]
    fn removes_controls_and_keeps_the_bytes_of_other_arguments() {
        check(r#"{"b": 1.0, "a":[ 1 ]}"#, (r#"{"b": 1.0, "a":[ 1 ]}"#, r#"{"a":[1],"b":1.0}"#, None));
        check(r#"{"limit":3}"#, ("{}", "{}", Some(3)));
        check(
            r#"{"limit":3, "q":{"z":1,"y":2}}"#,
            (r#"{"q":{"z":1,"y":2}}"#, r#"{"q":{"y":2,"z":1}}"#, Some(3)),
        );
        check(r#"{"q":1 , "l\u0069mit":"3" }"#, (r#"{"q":1 }"#, r#"{"q":1}"#, Some(3)));
        check(r#"{"fields":"a","limit":null}"#, (r#"{"fields":"a"}"#, r#"{"fields":"a"}"#, None));
        check("{}", ("{}", "{}", None));
    }

    #[test]
    fn deeply_nested_arguments_are_handled() {
        let deep = format!(r#"{{"a":{}{}}}"#, "[".repeat(100_000), "]".repeat(100_000));
        check(&deep, (&deep, &deep, None));
    }

    #[test]
    fn reports_invalid_controls() {
        let check = |arguments: &str, expect: &str| {
            let error = parse_read_arguments(arguments, &Policy::default()).expect_err("bad");
            assert_eq!(error.code.name(), expect, "{arguments}: {error:?}");
        };
        check(r#"{"cursor":"x","limit":0}"#, "limit_invalid");
        check(r#"{"cursor":"x","limit":100000}"#, "limit_too_large");
        check(r#"{"cursor":"x","limit":1e30}"#, "limit_too_large");
        check(r#"{"cursor":"x","limit":"1000000000000000000000"}"#, "limit_too_large");
        check(r#"{"cursor":"x","limit":-1e30}"#, "limit_invalid");
        check(r#"{"cursor":[7]}"#, "cursor_invalid");
        check(r#"{"cursor":"x","page":1,"offset":1}"#, "controls_conflict");
        check(r#"{"cursor":"x","filter":"y"}"#, "argument_unknown");
        check(r#"{"cursor":"x","sql":"S","find":"x"}"#, "query_invalid");
        check(r#"{"cursor":"x","with":{"b":"d"}}"#, "query_invalid");
        check(r#"{"cursor":"x","lines":"x-y"}"#, "range_invalid");
        let fine = r#"{"cursor":"x","raw":true}"#;
        let request = parse_read_arguments(fine, &Policy::default()).expect("good");
        assert_eq!(request, Request { cursor: Some("x".into()), raw: true, ..Request::default() });
        let meant = r#"{"next_cursor":"x","lines":"10-20","max_tokens":"900"}"#;
        let request = parse_read_arguments(meant, &Policy::default()).expect("good");
        let (start_line, end_line, max_tokens) = (Some(10), Some(20), Some(900));
        let cursor = Some("x".into());
        assert_eq!(request, Request { cursor, start_line, end_line, max_tokens, ..Request::default() });
    }

    #[test]
    fn recognizes_controls() {
        let check = |text: &str, expect: bool| {
            let names = ControlNames::default();
            assert_eq!(has_control(text, walk::document_span(text), &names), expect, "{text}");
        };
        check(r#"{"a":{"limit":1}}"#, false);
        check(r#"{"a":1,"limit":1}"#, true);
        check("[1]", false);
    }

    #[test]
    fn queries_are_parsed_under_all_names() {
        let check = |arguments: &str, expect: Query| {
            let request = parse_read_arguments(arguments, &Policy::default());
            assert_eq!(request.map(|request| request.query), Ok(expect), "{arguments}");
        };
        check(r#"{"cursor":"c","s\u0071l":"S","find":null,"colour":null}"#, Query::from_sql("S"));
        check(r#"{"cursor":"c","query":"SELECT 1"}"#, Query::from_sql("SELECT 1"));
        check(r#"{"cursor":"c","search":"select committee"}"#, Query::from_pattern("select committee"));
        check(r#"{"cursor":"c","regex":"a/b"}"#, Query::from_pattern("/a\\/b/"));
        check(r#"{"cursor":"c","fields":"id"}"#, Query::default());
    }
}

#[cfg(test)]
mod read_uri_tests {
    use portion_core::policy::Policy;
    use portion_core::view::Request;

    use super::parse_read_uri;

    fn check(suffix: &str, expect: Result<Request, &str>) {
        let request =
            parse_read_uri(suffix, &Policy::default()).map_err(|error| error.code().name().to_owned());
        assert_eq!(request, expect.map_err(str::to_owned), "{suffix}");
    }

    #[test]
    fn reads_a_cursor_and_controls() {
        let of = |cursor: &str| Request { cursor: Some(cursor.into()), ..Request::default() };
        check("AbC-_", Ok(of("AbC-_")));
        check("", Ok(of("")));
        check("A#2", Ok(of("A")));
        check("A?#x?raw=true", Ok(of("A")));
        check("A?raw=true&&limit=x", Err("limit_invalid"));
        check("A?path=/contents/0/blob", Ok(Request { path: Some("/contents/0/blob".into()), ..of("A") }));
        check(
            "A?p%61th=a%2Fb%26c&maxTokens=500#1",
            Ok(Request { path: Some("a/b&c".into()), max_tokens: Some(500), ..of("A") }),
        );
        check("A?sort=price+desc", Ok(Request { sort: Some("price desc".into()), ..of("A") }));
        check("A?path=%zz%4%E4%C3%A4", Ok(Request { path: Some("%zz%4\u{fffd}ä".into()), ..of("A") }));
        check("A?limit=1000", Err("limit_too_large"));
        check("A?cursor=B", Err("argument_unknown"));
        check("A?uri=B", Err("argument_unknown"));
        check("A?page=1&offset=2", Err("controls_conflict"));
    }
}
