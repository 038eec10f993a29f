//! Configurations for known APIs, by name. A profile is a configuration file that is part of the program: it has the
//! lowest priority of all sources.
//!
//! ```
//! use portion_config::profile::Profile;
//!
//! assert!(Profile::by_name("hostaway").unwrap().text.contains("endpoints:"));
//! ```

use portion_text::names::{matches_pattern, split_name};

use crate::document::{Node, NodeValue, yaml};

/// Fewest tools by which a server is recognised, if a profile has as many.
const MIN_TOOLS: usize = 2;

/// Fewest letters of a word that is abbreviated.
const MIN_ABBREVIATION: usize = 3;

/// A configuration for a known API.
#[derive(Debug, PartialEq, Eq)]
pub struct Profile {
    /// Name, a value of the key `profile`.
    pub name: &'static str,
    /// The configuration, YAML.
    pub text: &'static str,
}

/// All profiles.
pub const PROFILES: [Profile; 2] = [
    Profile { name: "hostaway", text: include_str!("hostaway.yaml") },
    Profile { name: "education-data", text: include_str!("education-data.yaml") },
];

impl Profile {
    /// Returns the profile of this name.
    pub fn by_name(name: &str) -> Option<&'static Self> {
        PROFILES.iter().find(|profile| profile.name == name)
    }

    /// Returns the profile whose tools a server lists: at least two of them, if it has as many, that are half of the tools of
    /// the server or of the profile. A tool is known by the pattern of its rule, and shares an argument with its description.
    pub fn for_tools(tools: &[ListedTool]) -> Option<&'static Self> {
        let count = |profile: &&Self| {
            let known = profile.tools();
            let found = known.iter().filter(|known| tools.iter().any(|tool| known.is(tool))).count();
            let is_half = 2 * found >= tools.len() || 2 * found >= known.len();
            if found >= MIN_TOOLS.min(known.len()) && is_half { found } else { 0 }
        };
        PROFILES.iter().max_by_key(count).filter(|best| count(best) > 0)
    }

    /// Returns the profile that the words of a command line, a URL or a server's name mention.
    pub fn for_words<'w>(words: impl IntoIterator<Item = &'w str>) -> Option<&'static Self> {
        words.into_iter().find_map(|word| PROFILES.iter().find(|profile| profile.is_mentioned(word)))
    }

    fn is_mentioned(&self, word: &str) -> bool {
        let (name, words) = (split_name(self.name), split_name(word));
        // Names of several words are abbreviated: `edu-data`.
        let is_word = |(word, own): (&String, &String)| {
            word == own || name.len() > 1 && word.len() >= MIN_ABBREVIATION && own.starts_with(word.as_str())
        };
        let has_name = words.windows(name.len()).any(|part| part.iter().zip(&name).all(is_word));
        has_name || self.hosts().iter().any(|host| word.contains(host.as_str()))
    }

    /// Returns the patterns of its rules for tools, with the parameters of the tools.
    fn tools(&self) -> Vec<ProfileTool> {
        let root = self.root();
        let described: Vec<(String, Node)> = members(&root, "upstreams")
            .into_iter()
            .flat_map(|(_, server)| members(&server, "tools"))
            .collect();
        let names = members(&root, "endpoints").into_iter().map(|(pattern, _)| pattern);
        let patterns = names.filter(|pattern| !pattern.contains('/'));
        let tool = |pattern: String| {
            let own = described.iter().filter(|(name, _)| matches_pattern(&pattern, name));
            let parameters = own.flat_map(|(_, tool)| members(tool, "parameters")).map(|(name, _)| name);
            ProfileTool { parameters: parameters.collect(), pattern }
        };
        patterns.map(tool).collect()
    }

    /// Returns the hosts of its API.
    fn hosts(&self) -> Vec<String> {
        let urls = members(&self.root(), "upstreams").into_iter().filter_map(|(_, server)| {
            let url = entries(&server).into_iter().find(|(key, _)| key == "url")?.1;
            url.text().map(str::to_owned)
        });
        let host = |url: String| Some(url.split("://").nth(1)?.split(['/', ':']).next()?.to_owned());
        urls.filter_map(host).collect()
    }

    fn root(&self) -> Node {
        yaml::parse(self.text).map_or_else(|_| Node::plain_scalar(""), |document| document.root)
    }
}

/// A tool as a server lists it.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct ListedTool {
    /// Name.
    pub name: String,
    /// Names of its arguments.
    pub arguments: Vec<String>,
}

/// The tools of a profile.
struct ProfileTool {
    /// Pattern of its rule.
    pattern: String,
    /// Names of its parameters, if the profile describes it.
    parameters: Vec<String>,
}

impl ProfileTool {
    fn is(&self, tool: &ListedTool) -> bool {
        let shares_argument = || tool.arguments.iter().any(|own| self.parameters.contains(own));
        matches_pattern(&self.pattern, &tool.name)
            && (tool.arguments.is_empty() || self.parameters.is_empty() || shares_argument())
    }
}

/// Returns the entries of a map in a map.
fn members(node: &Node, name: &str) -> Vec<(String, Node)> {
    entries(node).into_iter().filter(|(key, _)| key == name).flat_map(|(_, inner)| entries(&inner)).collect()
}

fn entries(node: &Node) -> Vec<(String, Node)> {
    match &node.value {
        NodeValue::Map(entries) => {
            entries.iter().map(|(key, node)| (key.text.clone(), node.clone())).collect()
        }
        _ => Vec::new(),
    }
}

#[cfg(test)]
mod tests {
    use super::{ListedTool, Profile};

    fn check_tools(tools: &[(&str, &[&str])], expect: Option<&str>) {
        let tool = |(name, arguments): &(&str, &[&str])| ListedTool {
            name: (*name).to_owned(),
            arguments: arguments.iter().map(|name| (*name).to_owned()).collect(),
        };
        let tools: Vec<ListedTool> = tools.iter().map(tool).collect();
        assert_eq!(Profile::for_tools(&tools).map(|profile| profile.name), expect, "{tools:?}");
    }

    #[test]
    fn a_server_is_known_by_its_tools() {
        let rentals: [(&str, &[&str]); 3] = [
            ("search_bookings", &["limit", "offset", "status"]),
            ("get_booking_details", &["booking_id"]),
            ("check_availability", &["listing_id", "start_date"]),
        ];
        check_tools(&rentals, Some("hostaway"));
        let prefixed = rentals.map(|(name, arguments)| (format!("hostaway_{name}"), arguments));
        check_tools(
            &prefixed.each_ref().map(|(name, arguments)| (name.as_str(), *arguments)),
            Some("hostaway"),
        );
        let data: (&str, &[&str]) = ("get_education_data", &["level", "source", "topic", "limit"]);
        check_tools(&[data, ("get_education_data_summary", &["stat", "var", "by"])], Some("education-data"));
        // Other servers have one such tool among others, or another tool of that name.
        let tracker: [(&str, &[&str]); 3] =
            [("list_tasks", &["project"]), ("list_reviews", &["repository"]), ("create_task", &["title"])];
        check_tools(&tracker, None);
        check_tools(&[("list_tasks", &["limit"]), ("add", &["a"]), ("sub", &["a"])], None);
        check_tools(&[], None);
    }

    #[test]
    fn a_server_is_known_by_the_words_that_start_it() {
        let check = |words: &[&str], expect: Option<&str>| {
            assert_eq!(
                Profile::for_words(words.iter().copied()).map(|profile| profile.name),
                expect,
                "{words:?}"
            );
        };
        check(&["npx", "-y", "@acme/hostaway-mcp"], Some("hostaway"));
        check(&["uv", "run", "education_data_server.py"], Some("education-data"));
        check(&["uvx", "edu-data-mcp-server"], Some("education-data"));
        check(&["npx", "host-mcp"], None);
        check(&["proxy", "https://api.hostaway.com/v1"], Some("hostaway"));
        check(&["data", "education"], None);
        check(&["hostawaylike"], None);
    }
}
