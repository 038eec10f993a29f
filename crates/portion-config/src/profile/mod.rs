//! Configurations for known APIs, by name. A profile is a configuration file that is part of the program: it has the
//! lowest priority of all sources.
//!
//! ```
//! use portion_config::profile::Profile;
//!
//! assert!(Profile::by_name("hostaway").unwrap().text.contains("endpoints:"));
//! ```

mod matching;

pub use matching::ListedTool;

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
}
