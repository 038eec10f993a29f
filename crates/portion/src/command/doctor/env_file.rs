//! Files with variables that clients read for a server: `envFile`.

/// Returns the variables of a file, in its order: `NAME=value`, with comments, `export` and quotes.
pub(super) fn parse(text: &str) -> Vec<(String, String)> {
    let line = |line: &str| {
        let line = line.trim();
        let line = line.strip_prefix("export ").unwrap_or(line);
        let (name, value) = line.split_once('=').filter(|_| !line.starts_with('#'))?;
        Some((name.trim().to_owned(), unquoted(value.trim())))
    };
    text.trim_start_matches('\u{feff}').lines().filter_map(line).collect()
}

fn unquoted(value: &str) -> String {
    for quote in ['"', '\''] {
        if let Some((inside, _)) = value.strip_prefix(quote).and_then(|rest| rest.rsplit_once(quote)) {
            return if quote == '"' { inside.replace("\\n", "\n") } else { inside.to_owned() };
        }
    }
    // A comment may follow an unquoted value.
    value.split(" #").next().unwrap_or_default().trim_end().to_owned()
}

#[cfg(test)]
mod tests {
    use super::parse;

    #[test]
    fn variables_are_read() {
        let text = "# keys\nA=1\n export B = two words # last\nC='#3'\nD=\"a\\nb\"\nE=\nno value\n";
        let expect = [("A", "1"), ("B", "two words"), ("C", "#3"), ("D", "a\nb"), ("E", "")];
        let found = parse(text);
        let found: Vec<(&str, &str)> = found.iter().map(|(name, value)| (&**name, &**value)).collect();
        assert_eq!(found, expect);
    }
}
