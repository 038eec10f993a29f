//! The error for a tool that a server does not list.

use portion_text::spelling::closest_name;

/// Most names that are listed.
const MAX_NAMES: usize = 20;

/// Returns the error: with the name that was probably meant, else with the names that there are.
pub(super) fn unknown_tool(name: &str, tools: &[&str]) -> String {
    if let Some(meant) = closest_name(name, tools.iter().copied()) {
        return format!("the server has no tool {name}; did you mean {meant}?");
    }
    match tools.get(..MAX_NAMES) {
        _ if tools.is_empty() => format!("the server has no tool {name}: it lists no tools"),
        Some(first) if tools.len() > MAX_NAMES => {
            format!(
                "the server has no tool {name}, but {} and {} more",
                first.join(", "),
                tools.len() - MAX_NAMES
            )
        }
        _ => format!("the server has no tool {name}, but {}", tools.join(", ")),
    }
}

#[cfg(test)]
mod tests {
    use super::unknown_tool;

    #[test]
    fn the_meant_name_or_all_names_are_said() {
        let check = |name: &str, tools: &[&str], expect: &str| {
            assert_eq!(unknown_tool(name, tools), format!("the server has no tool {name}{expect}"));
        };
        check("list_booking", &["get_booking", "list_bookings"], "; did you mean list_bookings?");
        check("other", &["get", "list"], ", but get, list");
        check("other", &[], ": it lists no tools");
        check("other", &["x"; 22], &format!(", but {} and 2 more", ["x"; 20].join(", ")));
    }
}
