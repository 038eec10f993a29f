//! Finds the ids of messages that are too large to keep.
//!
//! Servers in TypeScript write the result first and the id last, so the whole line has to be scanned: piece by
//! piece, in bounded memory. Only keys of the root object count, or those of the objects in a root array. Malformed text
//! is scanned as far as possible, and never yields an id that is not JSON.

use memchr::memchr2;
use serde_json::value::RawValue;

use super::{DroppedLine, DroppedMessage, MAX_BATCH_MESSAGES};

/// Longest id kept; longer ids are dropped.
const MAX_ID_BYTES: usize = 1024;
/// Most bytes of ids kept of a line: those of a full batch with ids of 64 bytes.
const MAX_LINE_ID_BYTES: usize = 64 * MAX_BATCH_MESSAGES;
/// The longest spelling of `"method"`, each letter escaped as `\u006d`.
const MAX_KEY_BYTES: usize = 38;
/// Most ids kept of a message besides the last: a valid message has one.
const MAX_EARLIER_IDS: usize = 7;

/// Scanner of one line: a message, or a batch.
#[derive(Default)]
pub(super) struct IdScanner {
    /// Number of open brackets.
    depth: u64,
    state: ScanState,
    /// True if the root is an array.
    is_batch: bool,
    /// True if a key of a message comes next.
    expects_key: bool,
    token_kind: TokenKind,
    token: Vec<u8>,
    /// The message that is being scanned; a single one stays here to the end.
    message: Option<ScannedMessage>,
    /// Earlier messages of a batch.
    messages: Vec<DroppedMessage>,
    /// Bytes of the ids in `messages`.
    id_bytes: usize,
    has_unidentified: bool,
    has_notification: bool,
}

/// State of the scanner.
#[derive(Clone, Copy, Default, PartialEq, Eq)]
enum ScanState {
    #[default]
    Structure,
    String,
    /// Inside a string, after a backslash.
    Escape,
    /// The root is closed, or it is neither an object nor an array.
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

/// Facts about a message, as far as it was scanned.
#[derive(Default)]
struct ScannedMessage {
    id: ScannedId,
    /// Ids before the last, which only invalid messages have.
    earlier_ids: Vec<Box<str>>,
    has_method: bool,
}

/// Last id of a message.
#[derive(Default)]
enum ScannedId {
    #[default]
    Missing,
    /// Too long, not JSON, an object or an array, or not complete.
    Unusable,
    Raw(Box<str>),
}

impl ScannedId {
    fn into_raw(self) -> Option<Box<str>> {
        match self {
            Self::Raw(id) => Some(id),
            Self::Missing | Self::Unusable => None,
        }
    }
}

impl IdScanner {
    /// Scans the next piece of the line.
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

    /// Returns what was found in a line of this length.
    pub(super) fn finish(mut self, bytes: u64) -> DroppedLine {
        self.keep_message(self.state == ScanState::Done);
        let is_unrecognized = self.messages.is_empty() && !self.has_notification;
        DroppedLine {
            messages: self.messages,
            has_unidentified: self.has_unidentified || is_unrecognized,
            is_batch: self.is_batch,
            bytes,
        }
    }

    /// Returns the raw text of the last id, and true if there was a method. A batch has neither.
    pub(super) fn finish_single(self) -> (Option<Box<str>>, bool) {
        let message = self.into_single();
        (message.id.into_raw(), message.has_method)
    }

    /// Returns the raw texts of all ids in order, and true if there was a method. A batch has neither.
    pub(super) fn finish_single_with_all_ids(self) -> (Vec<Box<str>>, bool) {
        let message = self.into_single();
        let mut ids = message.earlier_ids;
        ids.extend(message.id.into_raw());
        (ids, message.has_method)
    }

    fn into_single(self) -> ScannedMessage {
        self.message.filter(|_| !self.is_batch).unwrap_or_default()
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
                b'{' | b'[' => self.open(byte),
                b'}' | b']' if self.depth > self.message_depth() => self.depth -= 1,
                b':' if self.expects_key => self.end_key(),
                b',' if self.is_between_members() => {
                    self.end_value();
                    self.expects_key = true;
                }
                b'}' if self.is_between_members() => self.close_message(),
                b']' if self.depth > 0 && self.message.is_none() => self.close_array(),
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

    /// Returns the depth inside a message: 1, or 2 in a batch.
    fn message_depth(&self) -> u64 {
        1 + u64::from(self.is_batch)
    }

    /// Returns true inside a message, and outside the objects and arrays in it.
    fn is_between_members(&self) -> bool {
        self.message.is_some() && self.depth == self.message_depth()
    }

    /// Opens the root, a message of a batch, or another object or array.
    fn open(&mut self, bracket: u8) {
        self.is_batch |= self.depth == 0 && bracket == b'[';
        self.depth += 1;
        self.token_kind = TokenKind::Ignored;
        self.expects_key = bracket == b'{' && self.depth == self.message_depth();
        if self.expects_key {
            self.message = Some(ScannedMessage::default());
        }
    }

    /// Closes a message. A single one is the last.
    fn close_message(&mut self) {
        self.end_value();
        self.expects_key = false;
        if self.is_batch {
            self.depth -= 1;
            self.keep_message(true);
        } else {
            self.state = ScanState::Done;
        }
    }

    /// Closes a batch, or an array among its messages.
    fn close_array(&mut self) {
        self.depth -= 1;
        if self.depth == 0 {
            self.state = ScanState::Done;
        }
    }

    /// Keeps what is needed to answer the scanned message. One without an id is a notification, unless it was cut off.
    fn keep_message(&mut self, is_complete: bool) {
        let Some(ScannedMessage { id, has_method, .. }) = self.message.take() else { return };
        match id {
            ScannedId::Raw(id) if self.has_room_for(&id) => {
                self.id_bytes += id.len();
                self.messages.push(DroppedMessage { id, has_method });
            }
            ScannedId::Missing if has_method && is_complete => self.has_notification = true,
            ScannedId::Raw(_) | ScannedId::Missing | ScannedId::Unusable => self.has_unidentified = true,
        }
    }

    fn has_room_for(&self, id: &str) -> bool {
        self.messages.len() < MAX_BATCH_MESSAGES && self.id_bytes + id.len() <= MAX_LINE_ID_BYTES
    }

    fn end_key(&mut self) {
        self.expects_key = false;
        let key = std::mem::take(&mut self.token_kind) == TokenKind::Key;
        let name = key.then(|| serde_json::from_slice::<String>(&self.token).ok()).flatten();
        let Some(message) = &mut self.message else { return };
        match name.as_deref() {
            Some("id") => {
                let earlier = std::mem::replace(&mut message.id, ScannedId::Unusable).into_raw();
                let room = MAX_EARLIER_IDS - message.earlier_ids.len();
                message.earlier_ids.extend(earlier.into_iter().take(room));
                self.start_token(TokenKind::Id);
            }
            Some("method") => message.has_method = true,
            _ => {}
        }
    }

    fn end_value(&mut self) {
        if std::mem::take(&mut self.token_kind) == TokenKind::Id
            && let Ok(id) = serde_json::from_slice::<&RawValue>(&self.token)
            && let Some(message) = &mut self.message
        {
            message.id = ScannedId::Raw(id.get().into());
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
        scanner.finish_single()
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
            let (ids, _) = scanner.finish_single_with_all_ids();
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

    fn scan(line: &[u8], step: usize) -> DroppedLine {
        let mut scanner = IdScanner::default();
        line.chunks(step).for_each(|piece| scanner.feed(piece));
        scanner.finish(line.len() as u64)
    }

    /// `messages`: the ids, and true for those with a method.
    fn check_line(line: &str, messages: &[(&str, bool)], has_unidentified: bool) {
        for step in [1, 2, 3, 7, line.len().max(1)] {
            let dropped = scan(line.as_bytes(), step);
            let found: Vec<_> =
                dropped.messages.iter().map(|message| (&*message.id, message.has_method)).collect();
            assert_eq!(found, messages, "{line} in steps of {step}");
            assert_eq!(dropped.has_unidentified, has_unidentified, "{line} in steps of {step}");
        }
    }

    #[test]
    fn each_message_of_a_batch_is_found() {
        check_line(
            r#"[{"id":1,"method":"m"},{"result":{"id":9,"method":"x"},"id":"b"}]"#,
            &[("1", true), ("\"b\"", false)],
            false,
        );
        check_line(
            "\u{feff} [ {\"id\":1} , 5, [{\"id\":2}], \"{\", {\"method\":\"n\"} ] {\"id\":3}",
            &[("1", false)],
            false,
        );
        check_line(r#"[{"id":1,"id":2},{"id":2}]"#, &[("2", false), ("2", false)], false);
        check_line(r#"[{"id":1}{"id":2}"#, &[("1", false), ("2", false)], false);
        check_line(r#"[}{"id":1}"#, &[("1", false)], false);
        check_line(r#"[{"method":"n",} "id":5, {"id":6}]"#, &[("6", false)], false);
    }

    #[test]
    fn what_cannot_be_answered_by_its_id_is_reported() {
        for line in
            ["", "garbage", "{}", "[]", "[5]", "[{}]", r#"[[{"id":1}]]"#, r#"{"id":[1],"method":"m"}"#]
        {
            check_line(line, &[], true);
        }
        for line in [r#"{"method":"n"}"#, r#"[{"method":"n"},{"method":"n"}]"#] {
            check_line(line, &[], false);
        }
        let request = r#"{"id":1,"method":"m"}"#;
        check_line(&format!(r#"[{request},{{"id":[2],"method":"m"}}]"#), &[("1", true)], true);
        // The id may have been cut off.
        check_line(&format!(r#"[{request},{{"method":"m","params":"#), &[("1", true)], true);
        check_line(r#"{"method":"m","params":"#, &[], true);
        let long = "x".repeat(MAX_ID_BYTES);
        check_line(&format!(r#"[{request},{{"id":"{long}","method":"m"}}]"#), &[("1", true)], true);
    }

    #[test]
    fn ids_of_a_batch_are_kept_up_to_a_number_and_a_length() {
        let kept = |id: &str, count: usize| {
            let message = format!(r#"{{"method":"m","id":"{id}"}}"#);
            let dropped = scan(format!("[{}]", vec![message; count].join(",")).as_bytes(), 4096);
            (dropped.messages.len(), dropped.has_unidentified)
        };
        assert_eq!(kept("a", MAX_BATCH_MESSAGES), (MAX_BATCH_MESSAGES, false));
        assert_eq!(kept("a", MAX_BATCH_MESSAGES + 1), (MAX_BATCH_MESSAGES, true));
        let long = "x".repeat(998);
        assert_eq!(kept(&long, 64), (64, false));
        assert_eq!(kept(&long, 65), (64, true));
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
        let batch = format!(r#"[{deep}{shut},{{"r":{deep}{shut},"id":3}}]"#);
        assert_eq!(
            scan(batch.as_bytes(), 4096).messages,
            [DroppedMessage { id: "3".into(), has_method: false }]
        );
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
            prop_assert_eq!(scan(&message, step), scan(&message, usize::MAX));
        }

        #[test]
        fn a_batch_is_read_as_its_messages(
            objects in prop::collection::vec(object(json()), 1..6), step in 1_usize..20,
            gap in prop::sample::select(vec![",", " , ", ",5,", ",[{\"id\":7}],", ",\"{\","]),
        ) {
            let texts: Vec<String> = objects.iter().map(ToString::to_string).collect();
            let line = format!("[{}]", texts.join(gap));
            let alone: Vec<DroppedLine> = texts.iter().map(|text| scan(text.as_bytes(), usize::MAX)).collect();
            let expect = DroppedLine {
                has_unidentified: alone.iter().any(|line| line.has_unidentified),
                messages: alone.into_iter().flat_map(|line| line.messages).collect(),
                is_batch: true,
                bytes: line.len() as u64,
            };
            prop_assert_eq!(scan(line.as_bytes(), step), expect);
        }
    }

    fn byte() -> impl Strategy<Value = u8> {
        prop_oneof![prop::sample::select(br#"{}[]":,\id1 "#.to_vec()), any::<u8>()]
    }

    fn json() -> impl Strategy<Value = serde_json::Value> {
        let leaf = prop_oneof![any::<i64>().prop_map(Into::into), "[ -~]{0,9}".prop_map(Into::into)];
        leaf.prop_recursive(3, 20, 4, |inner| {
            prop_oneof![prop::collection::vec(inner.clone(), 0..4).prop_map(Into::into), object(inner),]
        })
    }

    fn object(values: impl Strategy<Value = serde_json::Value>) -> impl Strategy<Value = serde_json::Value> {
        prop::collection::vec(("id|method|[a-z\"]{1,3}", values), 0..4)
            .prop_map(|pairs| serde_json::Value::Object(pairs.into_iter().collect()))
    }
}
