//! Messages as a link carries them, made of what HTTP brings.

use crate::frame::replace_line_breaks;
use crate::mcp::MessageView;
use crate::mcp::error_code::INTERNAL_ERROR;

/// A message on one line: JSON has line ends only between its tokens, where a space is as good.
pub(super) fn to_single_line(mut message: Vec<u8>) -> Vec<u8> {
    while matches!(message.last(), Some(b'\n' | b'\r')) {
        message.pop();
    }
    replace_line_breaks(&mut message);
    message
}

/// The same answer with another id, as it is written.
pub(crate) fn with_response_id(text: &str, answer: &MessageView<'_>, raw_id: &str) -> Vec<u8> {
    let inside = answer.span().start as usize + 1;
    let (start, end, id) = answer.id_span().map_or_else(
        || (inside, inside, format!("\"id\":{raw_id},")),
        |place| (place.start as usize, place.end as usize, raw_id.to_owned()),
    );
    [&text[..start], &id, &text[end..]].concat().into_bytes()
}

/// The answer to a request that came to nothing.
pub(super) fn failure_message(raw_id: &str, why: &dyn std::fmt::Display) -> Vec<u8> {
    crate::front::http::http_error::json_rpc_error(raw_id, INTERNAL_ERROR, &why.to_string()).into_bytes()
}

#[cfg(test)]
mod tests {
    use super::{to_single_line, with_response_id};
    use crate::mcp::ParsedBatch;

    #[test]
    fn line_ends_become_spaces() {
        assert_eq!(to_single_line(b"{\r\n \"a\": \"\\n\"\n}\n".to_vec()), b"{   \"a\": \"\\n\" }");
    }

    #[test]
    fn an_answer_gets_the_id_of_its_request() {
        let check = |text: &str, expect: &str| {
            let heard = ParsedBatch::parse(text).expect("an answer");
            let said = with_response_id(text, &heard.messages[0], "\"é\"");
            assert_eq!(String::from_utf8_lossy(&said), expect);
        };
        check(r#"{"jsonrpc":"2.0","id":null,"error":{}}"#, r#"{"jsonrpc":"2.0","id":"é","error":{}}"#);
        check(r#" {"jsonrpc":"2.0","error":{}}"#, r#" {"id":"é","jsonrpc":"2.0","error":{}}"#);
    }
}
