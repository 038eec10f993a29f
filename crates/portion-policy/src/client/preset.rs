//! Selects the client whose limits apply.

use std::fmt;
use std::str::FromStr;

use super::{CLIENTS, ClientProfile};

/// Client whose limits bound the defaults.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum Preset {
    /// No client.
    None,
    /// The client of the request, if it is known.
    #[default]
    Auto,
    /// This client, whatever the client of the request.
    Named(&'static ClientProfile),
    /// No client: the caller is a program that takes unshaped results if that is allowed.
    Code,
}

/// Error for an unknown preset.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
#[error("unknown preset `{given}`: use {}", Preset::names())]
pub struct UnknownPreset {
    /// The given name.
    pub given: String,
}

impl Preset {
    fn names() -> String {
        let names = ["none", "auto", "code"].into_iter().chain(CLIENTS.iter().map(|client| client.preset));
        names.collect::<Vec<_>>().join(", ")
    }
}

impl fmt::Display for Preset {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(match self {
            Self::None => "none",
            Self::Auto => "auto",
            Self::Code => "code",
            Self::Named(client) => client.preset,
        })
    }
}

impl FromStr for Preset {
    type Err = UnknownPreset;

    fn from_str(name: &str) -> Result<Self, Self::Err> {
        match name {
            "none" => Ok(Self::None),
            "auto" => Ok(Self::Auto),
            "code" => Ok(Self::Code),
            name => CLIENTS
                .iter()
                .find(|client| client.preset == name)
                .map(Self::Named)
                .ok_or_else(|| UnknownPreset { given: name.to_owned() }),
        }
    }
}
