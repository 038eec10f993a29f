//! Recognizes passwords under names that mean other things, too: `pass` is the result of a test, or a step of a compiler.

use super::pattern::is_in;
use super::text_value::line_before;
use super::value::is_random;

/// Maximum bytes of a setting and the line below it that are read.
const MAX_LINE_BYTES: usize = 256;
/// Names that are those of passwords beside the name of a user, or with a value that looks like one.
const SHORT_NAMES: [&str; 2] = ["pass", "pw"];
/// Names of a user, in lower case, letters only.
const LOGIN_NAMES: &str = "account email login loginid mail uid user userid username";
/// Values that are results.
const RESULTS: &str = "0 1 error f fail failed false n no none null ok pass passed true yes";
/// Names of columns of results.
const RESULT_NAMES: &str = "error errors fail failed score skip skipped total";
/// Minimum and maximum bytes of a password that is recognized by itself.
const PASSWORD_BYTES: std::ops::RangeInclusive<usize> = 6..=128;

/// Returns true for a name that may be that of a password.
pub(super) fn is_short_name(name: &str) -> bool {
    SHORT_NAMES.iter().any(|short| name.eq_ignore_ascii_case(short))
}

/// Returns true for the name of a user, of an account or of a server.
pub(super) fn is_login_name(name: &str) -> bool {
    let letters = || name.bytes().filter(u8::is_ascii_alphabetic).map(|byte| byte.to_ascii_lowercase());
    name.len() <= 16 && LOGIN_NAMES.split(' ').any(|login| letters().eq(login.bytes()))
}

/// Returns true if a value under such a name may be a password. `has_login`: the name of a user stands beside it.
pub(super) fn may_be_password(value: &str, has_login: bool) -> bool {
    let is_result = RESULTS.split(' ').any(|result| value.eq_ignore_ascii_case(result));
    let is_word = !value.is_empty() && !value.contains(char::is_whitespace);
    let has = |is: fn(&u8) -> bool| value.as_bytes().iter().any(is);
    let looks_random = PASSWORD_BYTES.contains(&value.len())
        && has(u8::is_ascii_digit)
        && has(u8::is_ascii_alphabetic)
        && !value.contains(['/', '.', '(']);
    is_word && !is_result && (has_login || looks_random)
}

/// Returns the column of passwords under a short name, if another column has the names of users and none has results.
pub(super) fn password_column(names: &[impl AsRef<str>]) -> Option<usize> {
    let is_result = |name: &str| is_in(RESULT_NAMES, &name.to_ascii_lowercase());
    let any = |is: &dyn Fn(&str) -> bool| names.iter().any(|name| is(name.as_ref()));
    let column = names.iter().position(|name| is_short_name(name.as_ref()))?;
    (any(&is_login_name) && !any(&is_result)).then_some(column)
}

/// Returns true if the setting under a short name whose separator is at `at` is a password, given its value.
pub(super) fn is_password_setting(text: &str, at: usize, value: &str) -> bool {
    let line = line_before(text, at);
    let words = |line: &str| line.split(|c: char| !c.is_alphanumeric()).any(is_login_name);
    let above = text[..at - line.len()].strip_suffix('\n').map(|above| line_before(text, above.len()));
    let near = &text[at..text.floor_char_boundary(at + MAX_LINE_BYTES)];
    let below = near.split_once('\n').map_or("", |(_, below)| below);
    let begins_with_login = |line: &str| {
        let content = line.trim_start_matches([' ', '\t', '-', '"', '\'']);
        content.split([' ', '\t', '=', ':', '"', '\'']).next().is_some_and(is_login_name)
    };
    let has_login = words(line) || above.is_some_and(begins_with_login) || begins_with_login(below);
    may_be_password(value, has_login)
        && (has_login || text.as_bytes().get(at) == Some(&b'=') || is_random(value))
}

#[cfg(test)]
mod tests {
    use super::may_be_password;

    #[test]
    fn passwords_are_told_from_results() {
        for (value, alone, beside_login) in [
            ("hunter2", true, true),
            ("secret", false, true),
            ("true", false, false),
            ("PASSED", false, false),
            ("12", false, true),
            ("inline", false, true),
            ("12 of 13", false, false),
            ("test_a1.py", false, true),
            ("", false, false),
        ] {
            assert_eq!(
                (may_be_password(value, false), may_be_password(value, true)),
                (alone, beside_login),
                "{value}"
            );
        }
    }
}
