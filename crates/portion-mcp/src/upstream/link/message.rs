//! Converts messages received over HTTP to the form that a link carries.

use crate::frame::replace_line_breaks;
use crate::mcp::MessageView;
use crate::mcp::error_code::INTERNAL_ERROR;

/// Puts a message on one line. JSON has raw line breaks only between tokens, where a space means the same.
pub(super) fn to_single_line(mut message: Vec<u8>) -> Vec<u8> {
    while matches!(message.last(), Some(b'\n' | b'\r')) {
        message.pop();
    }
    replace_line_breaks(&mut message);
    message
}

/// Returns a response with its id replaced by `raw_id`.
pub(crate) fn with_response_id(text: &str, response: &MessageView<'_>, raw_id: &str) -> Vec<u8> {
    let object_start = response.span().start as usize + 1;
    let (start, end, id) = response.id_span().map_or_else(
        || (object_start, object_start, format!("\"id\":{raw_id},")),
        |span| (span.start as usize, span.end as usize, raw_id.to_owned()),
    );
    [&text[..start], &id, &text[end..]].concat().into_bytes()
}

/// Returns the error response to a failed request.
pub(super) fn failure_message(raw_id: &str, error: &dyn std::fmt::Display) -> Vec<u8> {
    crate::mcp::error_code::json_rpc_error(raw_id, INTERNAL_ERROR, &error.to_string()).into_bytes()
}

#[cfg(test)]
mod tests {
    use super::{to_single_line, with_response_id};
    use crate::mcp::ParsedBatch;

    #[test]
    fn line_breaks_become_spaces() {
        assert_eq!(to_single_line(b"{\r\n \"a\": \"\\n\"\n}\n".to_vec()), b"{   \"a\": \"\\n\" }");
    }

    #[test]
    fn a_response_gets_the_id_of_its_request() {
        let check = |text: &str, expect: &str| {
            let batch = ParsedBatch::parse(text).expect("an answer");
            let response = with_response_id(text, &batch.messages[0], "\"é\"");
            assert_eq!(String::from_utf8_lossy(&response), expect);
        };
        check(r#"{"jsonrpc":"2.0","id":null,"error":{}}"#, r#"{"jsonrpc":"2.0","id":"é","error":{}}"#);
        check(r#" {"jsonrpc":"2.0","error":{}}"#, r#" {"id":"é","jsonrpc":"2.0","error":{}}"#);
    }
}
