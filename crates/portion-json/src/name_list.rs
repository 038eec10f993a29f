//! Lists of field names in one text: `id,price.total`. A name with a comma is written in double quotes, as in CSV.
//!
//! ```
//! use portion_json::name_list::{quote_name, split_names};
//!
//! assert_eq!(split_names(r#"id, "last, first""#, |_| true), ["id", "last, first"]);
//! assert_eq!(quote_name("last, first"), r#""last, first""#);
//! ```

use std::borrow::Cow;

/// Splits a list of names at its commas. A name in double quotes may have commas, and two quotes stand for one. A quoted name
/// with commas that is not known is a list itself.
pub fn split_names(list: &str, is_known: impl Fn(&str) -> bool) -> Vec<String> {
    let mut names = Vec::new();
    let mut rest = list;
    while !rest.is_empty() {
        if let Some((name, after)) = quoted_name(rest) {
            if name.contains(',') && !is_known(&name) {
                names.extend(name.split(',').map(|part| part.trim().to_owned()));
            } else {
                names.push(name);
            }
            rest = after;
        } else {
            let (name, after) = rest.split_once(',').unwrap_or((rest, ""));
            names.push(name.trim().to_owned());
            rest = after;
        }
    }
    names.retain(|name| !name.is_empty());
    names
}

/// Returns a name as an item of a list of names, in quotes if it would be read as something else without them.
pub fn quote_name(name: &str) -> Cow<'_, str> {
    if name.contains(',') || name.starts_with('"') || name.trim() != name {
        format!("\"{}\"", name.replace('"', "\"\"")).into()
    } else {
        name.into()
    }
}

/// Returns the quoted name at the beginning of a list, and what follows its comma; `None` if the name is not in quotes.
fn quoted_name(list: &str) -> Option<(String, &str)> {
    let inner = list.trim_start().strip_prefix('"')?;
    let mut end = inner.find('"')?;
    while inner[end + 1..].starts_with('"') {
        end += 2;
        end += inner[end..].find('"')?;
    }
    let after = inner[end + 1..].trim_start();
    let after = if after.is_empty() { after } else { after.strip_prefix(',')? };
    Some((inner[..end].replace("\"\"", "\""), after))
}

#[cfg(test)]
mod tests {
    use super::{quote_name, split_names};

    #[test]
    fn names_are_split_at_commas_outside_of_quotes() {
        let check = |list: &str, expect: &[&str]| assert_eq!(split_names(list, |_| true), expect, "{list}");
        check("id, price.total,,", &["id", "price.total"]);
        check(r#""a,b" , id"#, &["a,b", "id"]);
        check(r#"id,"a ""b"", c""#, &["id", r#"a "b", c"#]);
        check(r#""""#, &[]);
        check(r#""""""#, &["\""]);
        check(r#""a,b"#, &["\"a", "b"]);
        check(r#""a"b,c"#, &["\"a\"b", "c"]);
        check(r#"a"b,c"d"#, &["a\"b", "c\"d"]);
        assert_eq!(split_names(r#""a, b",c"#, |name| name == "c"), ["a", "b", "c"]);
    }

    #[test]
    fn a_quoted_name_is_one_name() {
        for name in ["id", "a,b", "\"", "\"a\"", "\"a\",\"b\"", " a ", "a\"b", "a\"\",b", ",", "é,\u{2003}"]
        {
            let list = format!("x,{},y", quote_name(name));
            assert_eq!(split_names(&list, |_| true), ["x", name, "y"], "{list}");
        }
    }
}
