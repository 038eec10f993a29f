//! Finds the id of a message that is too large to keep.
//!
//! Servers in TypeScript write the result first and the id last, so the whole message has to be scanned: piece by
//! piece, in constant memory. Only keys of the root object count. Malformed text is scanned as far as possible, and
//! never yields an id that is not JSON.

use memchr::memchr2;
use serde_json::value::RawValue;

/// Longest id kept; longer ids are dropped.
const MAX_ID_BYTES: usize = 1024;
/// The longest spelling of `"method"`, each letter escaped as `\u006d`.
const MAX_KEY_BYTES: usize = 38;
/// Most ids kept besides the last: a valid message has one.
const MAX_EARLIER_IDS: usize = 7;

/// Scanner of one message.
#[derive(Default)]
pub(super) struct IdScanner {
    /// Number of open brackets; 1 is inside the root object.
    depth: u64,
    state: ScanState,
    /// True if a key of the root object comes next.
    expects_key: bool,
    token_kind: TokenKind,
    token: Vec<u8>,
    id: Option<Box<str>>,
    /// Ids before the last, which only invalid messages have.
    earlier_ids: Vec<Box<str>>,
    has_method: bool,
}

/// State of the scanner.
#[derive(Clone, Copy, Default, PartialEq, Eq)]
enum ScanState {
    #[default]
    Structure,
    String,
    /// Inside a string, after a backslash.
    Escape,
    /// The root object is closed, or the root is not an object.
    Done,
}

/// Kind of the text that `token` collects.
#[derive(Clone, Copy, Default, PartialEq, Eq)]
enum TokenKind {
    #[default]
    Ignored,
    Key,
    Id,
}

impl IdScanner {
    /// Scans the next piece of the message.
    pub(super) fn feed(&mut self, mut piece: &[u8]) {
        while !piece.is_empty() {
            let scanned = match self.state {
                ScanState::Structure => self.scan_structure(piece),
                ScanState::String => self.scan_string(piece),
                ScanState::Escape => self.scan_escape(piece),
                ScanState::Done => return,
            };
            piece = &piece[scanned..];
        }
    }

    /// Returns the raw text of the last id, and true if there was a method.
    pub(super) fn finish(self) -> (Option<Box<str>>, bool) {
        (self.id, self.has_method)
    }

    /// Returns the raw texts of all ids in order, and true if there was a method.
    pub(super) fn finish_with_all_ids(self) -> (Vec<Box<str>>, bool) {
        let mut ids = self.earlier_ids;
        ids.extend(self.id);
        (ids, self.has_method)
    }

    /// Scans to the end of the string, the next escape or the end of the piece.
    fn scan_string(&mut self, piece: &[u8]) -> usize {
        let stop = memchr2(b'"', b'\\', piece);
        let scanned = stop.map_or(piece.len(), |at| at + 1);
        self.push_token(&piece[..scanned]);
        match stop.map(|at| piece[at]) {
            Some(b'"') => self.state = ScanState::Structure,
            Some(_) => self.state = ScanState::Escape,
            None => {}
        }
        scanned
    }

    /// Skips the escaped byte.
    fn scan_escape(&mut self, piece: &[u8]) -> usize {
        self.push_token(&piece[..1]);
        self.state = ScanState::String;
        1
    }

    /// Scans to the next string, the end of the root or the end of the piece.
    fn scan_structure(&mut self, piece: &[u8]) -> usize {
        for (at, &byte) in piece.iter().enumerate() {
            match byte {
                b'"' => {
                    if self.expects_key {
                        self.start_token(TokenKind::Key);
                    }
                    self.push_token(b"\"");
                    self.state = if self.depth == 0 { ScanState::Done } else { ScanState::String };
                }
                b'{' | b'[' => {
                    if self.depth == 0 && byte == b'[' {
                        self.state = ScanState::Done;
                    }
                    self.expects_key = self.depth == 0;
                    self.token_kind = TokenKind::Ignored;
                    self.depth += 1;
                }
                b'}' | b']' if self.depth > 1 => self.depth -= 1,
                b':' if self.expects_key => self.end_key(),
                b',' if self.depth == 1 => {
                    self.end_value();
                    self.expects_key = true;
                }
                b'}' => {
                    self.end_value();
                    self.state = ScanState::Done;
                }
                // The last three are a byte order mark.
                b' ' | b'\t' | b'\r' | 0xEF | 0xBB | 0xBF if self.depth == 0 => {}
                _ if self.depth == 0 => self.state = ScanState::Done,
                _ if self.token_kind == TokenKind::Id => self.push_token(&[byte]),
                _ => {}
            }
            if self.state != ScanState::Structure {
                return at + 1;
            }
        }
        piece.len()
    }

    fn end_key(&mut self) {
        self.expects_key = false;
        let key = std::mem::take(&mut self.token_kind) == TokenKind::Key;
        let name = key.then(|| serde_json::from_slice::<String>(&self.token).ok()).flatten();
        match name.as_deref() {
            Some("id") => {
                if let Some(earlier) = self.id.take()
                    && self.earlier_ids.len() < MAX_EARLIER_IDS
                {
                    self.earlier_ids.push(earlier);
                }
                self.start_token(TokenKind::Id);
            }
            Some("method") => self.has_method = true,
            _ => {}
        }
    }

    fn end_value(&mut self) {
        if std::mem::take(&mut self.token_kind) == TokenKind::Id {
            let valid = serde_json::from_slice::<&RawValue>(&self.token).ok();
            self.id = valid.map(|id| id.get().into());
        }
    }

    fn start_token(&mut self, kind: TokenKind) {
        self.token_kind = kind;
        self.token.clear();
    }

    fn push_token(&mut self, bytes: &[u8]) {
        let limit = match self.token_kind {
            TokenKind::Ignored => return,
            TokenKind::Key => MAX_KEY_BYTES,
            TokenKind::Id => MAX_ID_BYTES,
        };
        if self.token.len() + bytes.len() <= limit {
            self.token.extend_from_slice(bytes);
        } else {
            self.token_kind = TokenKind::Ignored;
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    fn sniff(message: &[u8], step: usize) -> (Option<Box<str>>, bool) {
        let mut scanner = IdScanner::default();
        message.chunks(step).for_each(|piece| scanner.feed(piece));
        scanner.finish()
    }

    fn check(message: &str, id: Option<&str>, has_method: bool) {
        for step in [1, 2, 3, 7, message.len().max(1)] {
            assert_eq!(
                sniff(message.as_bytes(), step),
                (id.map(Into::into), has_method),
                "{message} in steps of {step}"
            );
        }
    }

    #[test]
    fn ids_are_found_at_any_position() {
        check(r#"{"id":1,"result":{}}"#, Some("1"), false);
        check(r#"{"result":{"id":9,"method":"x","a":[{"id":8}]},"jsonrpc":"2.0","id":1}"#, Some("1"), false);
        check(r#" { "method" : "m" , "id" : "a b" , "params" : {} } "#, Some(r#""a b""#), true);
        check(r#"{"id":"}\"\\","result":"\\\",\"id\":5"}"#, Some(r#""}\"\\""#), false);
        check(r#"{"\u0069d":2,"\u006d\u0065\u0074\u0068\u006f\u0064":""}"#, Some("2"), true);
        check(r#"{"id":12345678901234567890,"x":[]}"#, Some("12345678901234567890"), false);
        check(r#"{"id":null}"#, Some("null"), false);
        check(r#"{"id":1,"id":2}"#, Some("2"), false);
    }

    #[test]
    fn what_stands_before_a_message_does_not_count() {
        for before in [" ", "\t", "\r", "\u{feff}", " \t\r\u{feff} "] {
            check(&format!(r#"{before}{{"id":1,"method":"m"}}"#), Some("1"), true);
        }
        for before in ["x", ",", ":", "}", "]", "1", "\""] {
            check(&format!(r#"{before}{{"id":1,"method":"m"}}"#), None, false);
        }
    }

    #[test]
    fn ids_are_kept_up_to_a_length() {
        for (length, is_kept) in [(MAX_ID_BYTES - 1, true), (MAX_ID_BYTES, true), (MAX_ID_BYTES + 1, false)] {
            let id = format!("\"{}\"", "x".repeat(length - 2));
            check(&format!(r#"{{"id":{id},"method":"m"}}"#), is_kept.then_some(id.as_str()), true);
        }
    }

    #[test]
    fn all_ids_of_a_message_are_found() {
        let check_all = |message: &str, expect: &[&str]| {
            let mut scanner = IdScanner::default();
            scanner.feed(message.as_bytes());
            let (ids, _) = scanner.finish_with_all_ids();
            assert_eq!(ids.iter().map(|id| &**id).collect::<Vec<_>>(), expect, "{message}");
        };
        check_all("{}", &[]);
        check_all(r#"{"id":1}"#, &["1"]);
        check_all(r#"{"id":1,"result":{"id":3},"id":"2"}"#, &["1", "\"2\""]);
        check_all(r#"{"id":1,"id":[2]}"#, &["1"]);
        check_all(
            &format!("{{{}\"id\":9}}", r#""id":8,"#.repeat(20)),
            &["8", "8", "8", "8", "8", "8", "8", "9"],
        );
    }

    #[test]
    fn space_before_a_colon_is_no_part_of_the_key() {
        check(&format!(r#"{{"id"{}:1}}"#, " ".repeat(1_000)), Some("1"), false);
    }

    #[test]
    fn other_text_yields_no_id() {
        for message in [
            "",
            "[",
            r#""id":1"#,
            r#"[{"id":1}]"#,
            r#"{"id":1"#,
            r#"{"id":}"#,
            r#"{"id":{"id":1}}"#,
            r#"{"id":[1]}"#,
            r#"{"id":1 2}"#,
            r#"{"id"::1}"#,
            r#"{"result":"id","x":{"id":1}}"#,
            r#"{"a":"id":1}"#,
            r#"{"Id":1,"id ":1,"i\d":1}"#,
            r#"garbage {"id":1}"#,
            r#"{"result":{}} {"id":1}"#,
        ] {
            check(message, None, false);
        }
        check(&format!(r#"{{"id":"{}","method":1}}"#, "x".repeat(MAX_ID_BYTES)), None, true);
    }

    #[test]
    fn deep_nesting_is_scanned() {
        let deep = "[".repeat(1_000_000);
        let shut = "]".repeat(1_000_000);
        assert_eq!(sniff(format!(r#"{{"r":{deep}{shut},"id":3}}"#).as_bytes(), 4096).0.as_deref(), Some("3"));
        assert_eq!(sniff(format!(r#"{{"r":{deep}"#).as_bytes(), 4096), (None, false));
    }

    proptest! {
        #[test]
        fn ids_of_any_object_are_found(
            before in json(), id in "[a-z\"\\\\{}:,]{0,9}", after in json(), step in 1_usize..20
        ) {
            let id = serde_json::Value::from(id).to_string();
            let text = format!(r#"{{"result":{before},"id":{id},"x":{after}}}"#);
            prop_assert_eq!(sniff(text.as_bytes(), step), (Some(id.into()), false));
        }

        #[test]
        fn the_result_does_not_depend_on_the_steps(message in prop::collection::vec(byte(), 0..200), step in 1_usize..20) {
            prop_assert_eq!(sniff(&message, step), sniff(&message, usize::MAX));
        }
    }

    fn byte() -> impl Strategy<Value = u8> {
        prop_oneof![prop::sample::select(br#"{}[]":,\id1 "#.to_vec()), any::<u8>()]
    }

    fn json() -> impl Strategy<Value = serde_json::Value> {
        let leaf = prop_oneof![any::<i64>().prop_map(Into::into), "[ -~]{0,9}".prop_map(Into::into)];
        leaf.prop_recursive(3, 20, 4, |inner| {
            prop_oneof![
                prop::collection::vec(inner.clone(), 0..4).prop_map(Into::into),
                prop::collection::vec(("id|method|[a-z\"]{1,3}", inner), 0..4)
                    .prop_map(|pairs| serde_json::Value::Object(pairs.into_iter().collect())),
            ]
        })
    }
}
