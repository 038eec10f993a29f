//! Parses the controls of a read URI: `portion://read/CURSOR?path=/contents/0/blob&maxTokens=2000`.

use portion_core::policy::Policy;
use portion_core::view::{Request, ViewError};
use portion_json::scan::quote;
use portion_policy::query_string::decode_component;

/// Characters of an unknown name that an error repeats.
const MAX_NAME_CHARS: usize = 64;

/// Returns the cursor of a read URI without its prefix.
pub(super) fn parse_cursor(suffix: &str) -> String {
    decode_component(suffix.split(['#', '?']).next().unwrap_or_default())
}

/// Parses cursor and query of a read URI without its prefix. The fragment only distinguishes entries of one
/// reply, and is ignored.
///
/// # Errors
/// An invalid control, or a name that is not a control.
pub(super) fn parse(suffix: &str, policy: &Policy) -> Result<Request, ViewError> {
    let suffix = suffix.split('#').next().unwrap_or_default();
    let query = suffix.split_once('?').map_or("", |(_, query)| query);
    let mut request = Request::default();
    for control in query.split('&').filter(|control| !control.is_empty()) {
        let (name, value) = control.split_once('=').unwrap_or((control, ""));
        let name = decode_component(name);
        if name == "cursor" || !request.set_control(&name, &quote(&decode_component(value)), policy)? {
            return Err(ViewError::UnknownArgument(name.chars().take(MAX_NAME_CHARS).collect()));
        }
    }
    request.check()?;
    request.cursor = Some(parse_cursor(suffix));
    Ok(request)
}

#[cfg(test)]
mod tests {
    use portion_core::policy::Policy;
    use portion_core::view::Request;

    use super::parse;

    fn check(suffix: &str, expect: Result<Request, &str>) {
        let request = parse(suffix, &Policy::default()).map_err(|error| error.code().name().to_owned());
        assert_eq!(request, expect.map_err(str::to_owned), "{suffix}");
    }

    #[test]
    fn reads_a_cursor_and_controls() {
        let of = |cursor: &str| Request { cursor: Some(cursor.into()), ..Request::default() };
        check("AbC-_", Ok(of("AbC-_")));
        check("", Ok(of("")));
        check("A#2", Ok(of("A")));
        check("A?#x?raw=true", Ok(of("A")));
        check("A?raw=true&&limit=", Err("limit_invalid"));
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
