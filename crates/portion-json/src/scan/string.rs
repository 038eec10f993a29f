//! Decodes and encodes JSON strings, and minifies JSON around them.

use super::block::{BLOCK_BYTES, WIDE_BLOCK_BYTES, byte_mask, plain_prefix_len};

/// Appends the text of a valid JSON string; `quoted` includes its quotes.
///
/// Returns the number of lone surrogates that were replaced by U+FFFD: JSON may hold them, text cannot.
pub fn unescape_into(quoted: &str, out: &mut String) -> usize {
    let inner = quoted.strip_prefix('"').and_then(|s| s.strip_suffix('"')).unwrap_or(quoted);
    let bytes = inner.as_bytes();
    let Some(first) = memchr::memchr(b'\\', bytes) else {
        out.push_str(inner);
        return 0;
    };
    let mut buffer = std::mem::take(out).into_bytes();
    // Reserves the 16 bytes of the last copied block too: a second allocation would double the memory
    // held meanwhile.
    buffer.reserve(bytes.len() + BLOCK_BYTES);
    let mut replaced = 0;
    let mut done = 0;
    let mut i = first;
    while i < bytes.len() {
        let mut escapes = match bytes[i..].first_chunk::<WIDE_BLOCK_BYTES>() {
            Some(wide) => byte_mask(wide, |b| b == b'\\'),
            None => bytes[i..].iter().rev().fold(0, |mask, b| mask << 1 | u64::from(*b == b'\\')),
        };
        while escapes != 0 {
            let at = i + escapes.trailing_zeros() as usize;
            escapes &= escapes - 1;
            // A backslash, or a digit, that belongs to the previous escape.
            if at < done {
                continue;
            }
            append_run(bytes, done, at, &mut buffer);
            done = at + 2;
            buffer.push(match bytes.get(at + 1).copied().unwrap_or(b'\\') {
                b'b' => 0x08,
                b'f' => 0x0c,
                b'n' => b'\n',
                b'r' => b'\r',
                b't' => b'\t',
                b'u' => {
                    let (c, used, lone) = parse_unicode_escape(bytes.get(done..).unwrap_or_default());
                    done += used;
                    replaced += usize::from(lone);
                    buffer.extend_from_slice(c.encode_utf8(&mut [0; 4]).as_bytes());
                    continue;
                }
                plain => plain,
            });
        }
        i += WIDE_BLOCK_BYTES;
    }
    append_run(bytes, done, bytes.len(), &mut buffer);
    *out = String::from_utf8(buffer)
        .unwrap_or_else(|broken| String::from_utf8_lossy(broken.as_bytes()).into_owned());
    replaced
}

/// Appends a run of plain text. A short run is copied as 16 bytes and then truncated: the constant length
/// avoids a function call.
#[inline]
fn append_run(bytes: &[u8], from: usize, to: usize, out: &mut Vec<u8>) {
    match bytes.get(from..from + BLOCK_BYTES) {
        Some(block) if to - from <= BLOCK_BYTES => {
            out.extend_from_slice(block);
            out.truncate(out.len() - BLOCK_BYTES + (to - from));
        }
        _ => out.extend_from_slice(bytes.get(from..to).unwrap_or_default()),
    }
}

/// Returns the text of a valid JSON string.
pub fn unescape(quoted: &str) -> String {
    let mut out = String::new();
    unescape_into(quoted, &mut out);
    out
}

/// Decodes the character after `\u`. Returns it, the number of bytes read, and true if it was a lone
/// surrogate.
fn parse_unicode_escape(bytes: &[u8]) -> (char, usize, bool) {
    let unit = |at: usize| {
        let digits = bytes.get(at..at + 4)?;
        u32::from_str_radix(std::str::from_utf8(digits).ok()?, 16).ok()
    };
    let lone = (char::REPLACEMENT_CHARACTER, 4.min(bytes.len()), true);
    match unit(0) {
        Some(high @ 0xd800..=0xdbff) => match unit(6) {
            Some(low @ 0xdc00..=0xdfff) if bytes[4..6] == *b"\\u" => {
                let code = 0x1_0000 + ((high - 0xd800) << 10) + (low - 0xdc00);
                char::from_u32(code).map_or(lone, |c| (c, 10, false))
            }
            _ => lone,
        },
        Some(code) => char::from_u32(code).map_or(lone, |c| (c, 4, false)),
        None => lone,
    }
}

/// Skips the blocks of plain bytes from an offset on. Returns the byte at the new offset, which may need an escape or end a string.
#[inline]
fn special_byte(bytes: &[u8], at: &mut usize) -> Option<u8> {
    while let Some(block) = bytes.get(*at..*at + BLOCK_BYTES) {
        let plain = plain_prefix_len(block);
        *at += plain;
        if plain < BLOCK_BYTES {
            break;
        }
    }
    bytes.get(*at).copied()
}

/// Appends text as the inside of a JSON string. Escapes only the characters that require it.
pub fn escape_into(text: &str, out: &mut String) {
    let bytes = text.as_bytes();
    let mut done = 0;
    let mut i = 0;
    while let Some(byte) = special_byte(bytes, &mut i) {
        let short = match byte {
            b'"' => "\\\"",
            b'\\' => "\\\\",
            b'\n' => "\\n",
            b'\r' => "\\r",
            b'\t' => "\\t",
            0x08 => "\\b",
            0x0c => "\\f",
            0..=0x1f => "",
            _ => {
                i += 1;
                continue;
            }
        };
        out.push_str(&text[done..i]);
        if short.is_empty() {
            const HEX: &[u8; 16] = b"0123456789abcdef";
            out.push_str("\\u00");
            out.push(HEX[usize::from(byte >> 4)] as char);
            out.push(HEX[usize::from(byte & 15)] as char);
        } else {
            out.push_str(short);
        }
        i += 1;
        done = i;
    }
    out.push_str(&text[done..]);
}

/// Returns text as a JSON string, quotes included.
pub fn quote(text: &str) -> String {
    let mut out = String::with_capacity(text.len() + 2);
    out.push('"');
    escape_into(text, &mut out);
    out.push('"');
    out
}

/// Counts the bytes that [`escape_into`] would write.
pub fn escaped_len(text: &str) -> usize {
    let special = |b: &u8| *b == b'"' || *b == b'\\' || *b < 0x20;
    let nameless = |b: &u8| *b < 0x20 && (!(0x08..=b'\r').contains(b) || *b == 0x0b);
    // Sums of blocks of bytes kept in a byte, which compilers vectorize.
    let added = text.as_bytes().chunks(240).map(|chunk| {
        let special: u8 = chunk.iter().map(|b| u8::from(special(b))).sum();
        let nameless: u8 = chunk.iter().map(|b| u8::from(nameless(b))).sum();
        usize::from(special) + 4 * usize::from(nameless)
    });
    text.len() + added.sum::<usize>()
}

/// Counts the lone surrogates in the strings of valid JSON.
pub fn lone_surrogate_count(json: &str) -> usize {
    let bytes = json.as_bytes();
    let (mut at, mut count, mut text) = (0, 0, String::new());
    while let Some(start) = memchr::memchr(b'"', &bytes[at..]).map(|start| at + start) {
        at = string_end(bytes, start);
        let string = &json[start..at];
        if string.contains("\\u") {
            text.clear();
            count += unescape_into(string, &mut text);
        }
    }
    count
}

/// Appends valid JSON without insignificant white space.
pub fn minify(json: &str, out: &mut String) {
    let bytes = json.as_bytes();
    let mut done = 0;
    let mut i = 0;
    while i < bytes.len() {
        match bytes[i] {
            b'"' => i = string_end(bytes, i),
            b' ' | b'\n' | b'\r' | b'\t' => {
                out.push_str(&json[done..i]);
                while i < bytes.len() && matches!(bytes[i], b' ' | b'\n' | b'\r' | b'\t') {
                    i += 1;
                }
                done = i;
            }
            _ => i += 1,
        }
    }
    out.push_str(&json[done..]);
}

/// Returns valid JSON without insignificant white space.
pub fn minified(json: &str) -> String {
    let mut out = String::with_capacity(json.len());
    minify(json, &mut out);
    out
}

/// Returns the offset after the string that begins at `start`, in valid JSON.
pub fn string_end(bytes: &[u8], start: usize) -> usize {
    let mut i = start + 1;
    while let Some(byte) = special_byte(bytes, &mut i) {
        match byte {
            b'"' => return i + 1,
            b'\\' => i += 2,
            _ => i += 1,
        }
    }
    bytes.len()
}
