//! JSON strings: out of their escapes and back into them.

/// For each of eight bytes, the high bit where the byte ends a run of plain string text:
/// a quote, a backslash, or a control character. Only the lowest hit is exact.
#[inline]
pub(crate) fn special(block: &[u8]) -> u64 {
    const LOW: u64 = 0x0101_0101_0101_0101;
    const HIGH: u64 = LOW << 7;
    let word = match block.try_into() {
        Ok(bytes) => u64::from_le_bytes(bytes),
        Err(_) => return HIGH,
    };
    let zero = |x: u64| x.wrapping_sub(LOW) & !x;
    let quote = zero(word ^ (LOW * u64::from(b'"')));
    let backslash = zero(word ^ (LOW * u64::from(b'\\')));
    let control = word.wrapping_sub(LOW * 0x20) & !word;
    (quote | backslash | control) & HIGH
}

/// Appends the text that a valid JSON string stands for; `quoted` includes its quotes.
///
/// Returns how many lone surrogates were replaced by U+FFFD: JSON may hold them, text cannot.
pub fn decode(quoted: &str, out: &mut String) -> usize {
    let inner = quoted.strip_prefix('"').and_then(|s| s.strip_suffix('"')).unwrap_or(quoted);
    let bytes = inner.as_bytes();
    let mut buffer = std::mem::take(out).into_bytes();
    buffer.reserve(bytes.len());
    let mut replaced = 0;
    let mut i = 0;
    while i < bytes.len() {
        // Copy eight bytes and take back what was not plain: cheaper than finding the run first.
        if let Some(block) = bytes.get(i..i + 8) {
            buffer.extend_from_slice(block);
            let hits = special(block);
            if hits == 0 {
                i += 8;
                continue;
            }
            let plain = hits.trailing_zeros() as usize / 8;
            buffer.truncate(buffer.len() - 8 + plain);
            i += plain;
        }
        if bytes[i] != b'\\' {
            buffer.push(bytes[i]);
            i += 1;
            continue;
        }
        let escape = bytes.get(i + 1).copied().unwrap_or(b'\\');
        i += 2;
        buffer.push(match escape {
            b'b' => 0x08,
            b'f' => 0x0c,
            b'n' => b'\n',
            b'r' => b'\r',
            b't' => b'\t',
            b'u' => {
                let (c, used, lone) = unicode_escape(&bytes[i..]);
                i += used;
                replaced += usize::from(lone);
                buffer.extend_from_slice(c.encode_utf8(&mut [0; 4]).as_bytes());
                continue;
            }
            plain => plain,
        });
    }
    *out = String::from_utf8(buffer)
        .unwrap_or_else(|broken| String::from_utf8_lossy(broken.as_bytes()).into_owned());
    replaced
}

/// The text that a valid JSON string stands for.
pub fn decoded(quoted: &str) -> String {
    let mut out = String::new();
    decode(quoted, &mut out);
    out
}

/// The character after `\u`, how many bytes it took, and whether it was half a pair.
fn unicode_escape(bytes: &[u8]) -> (char, usize, bool) {
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

/// Appends text as the inside of a JSON string. Only what must be escaped is.
pub fn escape(text: &str, out: &mut String) {
    let bytes = text.as_bytes();
    let mut done = 0;
    let mut i = 0;
    while i < bytes.len() {
        if let Some(block) = bytes.get(i..i + 8) {
            let hits = special(block);
            if hits == 0 {
                i += 8;
                continue;
            }
            i += hits.trailing_zeros() as usize / 8;
        }
        let short = match bytes[i] {
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
            out.push(HEX[usize::from(bytes[i] >> 4)] as char);
            out.push(HEX[usize::from(bytes[i] & 15)] as char);
        } else {
            out.push_str(short);
        }
        i += 1;
        done = i;
    }
    out.push_str(&text[done..]);
}

/// Text as a JSON string, quotes included.
pub fn quote(text: &str) -> String {
    let mut out = String::with_capacity(text.len() + 2);
    out.push('"');
    escape(text, &mut out);
    out.push('"');
    out
}

/// Bytes that [`escape`] would write.
pub fn escaped_len(text: &str) -> usize {
    text.bytes()
        .map(|b| match b {
            b'"' | b'\\' | b'\n' | b'\r' | b'\t' | 0x08 | 0x0c => 2,
            0..=0x1f => 6,
            _ => 1,
        })
        .sum()
}
