//! Tests the paths of the clients' files.

use std::path::{Path, PathBuf};

use portion_install::client::{Client, Places, Platform};

fn places(platform: Platform) -> Places {
    Places {
        platform,
        home: "/h".into(),
        xdg_config: "/h/.config".into(),
        roaming: "/h/Roaming".into(),
        local: "/h/Local".into(),
        project: "/p".into(),
        claude_config_dir: None,
        codex_home: None,
    }
}

#[track_caller]
fn check(client: Client, platform: Platform, expect: &[&str]) {
    let files = client.candidates(&places(platform));
    let files: Vec<&Path> = files.iter().map(|file| file.path.as_path()).collect();
    let expect: Vec<&Path> = expect.iter().map(Path::new).collect();
    assert_eq!(files, expect, "{client} {platform:?}");
}

#[test]
fn each_system_has_its_own() {
    use Platform::{Linux, MacOs, Windows};
    let desktop = "Claude/claude_desktop_config.json";
    check(Client::ClaudeDesktop, Linux, &[&format!("/h/.config/{desktop}")]);
    check(Client::ClaudeDesktop, MacOs, &[&format!("/h/Library/Application Support/{desktop}")]);
    check(
        Client::ClaudeDesktop,
        Windows,
        &[
            &format!("/h/Roaming/{desktop}"),
            &format!("/h/Local/Packages/Claude_*/LocalCache/Roaming/{desktop}"),
        ],
    );
    for platform in [Linux, MacOs, Windows] {
        check(Client::ClaudeCode, platform, &["/h/.claude.json", "/p/.mcp.json"]);
        check(Client::Cursor, platform, &["/h/.cursor/mcp.json", "/p/.cursor/mcp.json"]);
        check(Client::Codex, platform, &["/h/.codex/config.toml", "/p/.codex/config.toml"]);
        check(Client::GeminiCli, platform, &["/h/.gemini/settings.json", "/p/.gemini/settings.json"]);
        check(Client::Windsurf, platform, &["/h/.codeium/windsurf/mcp_config.json"]);
        check(Client::CopilotCli, platform, &["/h/.copilot/mcp-config.json"]);
    }
    check(Client::Zed, Linux, &["/h/.config/zed/settings.json", "/p/.zed/settings.json"]);
    check(Client::Zed, Windows, &["/h/Roaming/Zed/settings.json", "/p/.zed/settings.json"]);
    check(
        Client::VsCode,
        MacOs,
        &[
            "/h/Library/Application Support/Code/User/mcp.json",
            "/h/Library/Application Support/Code/User/profiles/*/mcp.json",
            "/h/Library/Application Support/Code - Insiders/User/mcp.json",
            "/h/Library/Application Support/Code - Insiders/User/profiles/*/mcp.json",
            "/h/Library/Application Support/VSCodium/User/mcp.json",
            "/h/Library/Application Support/VSCodium/User/profiles/*/mcp.json",
            "/p/.vscode/mcp.json",
        ],
    );
}

#[test]
fn variables_of_clients_move_their_files() {
    let moved = Places {
        claude_config_dir: Some("/c".into()),
        codex_home: Some("/x".into()),
        ..places(Platform::Linux)
    };
    assert_eq!(Client::ClaudeCode.candidates(&moved)[0].path, Path::new("/c/.claude.json"));
    assert_eq!(Client::Codex.candidates(&moved)[0].path, Path::new("/x/config.toml"));
}

#[test]
fn existing_files_are_found_once() {
    let folder = tempfile::tempdir().expect("a directory");
    let home: PathBuf = folder.path().to_owned();
    let profile = home.join(".config/Code/User/profiles/work");
    std::fs::create_dir_all(&profile).expect("directories");
    std::fs::create_dir_all(home.join(".cursor")).expect("directories");
    std::fs::write(profile.join("mcp.json"), "{}").expect("a file");
    std::fs::write(home.join(".cursor/mcp.json"), "{}").expect("a file");
    let places = Places {
        xdg_config: home.join(".config"),
        project: home.clone(),
        home: home.clone(),
        ..places(Platform::Linux)
    };
    let found: Vec<PathBuf> =
        Client::ALL.iter().flat_map(|client| client.files(&places)).map(|file| file.path).collect();
    assert_eq!(found, [home.join(".cursor/mcp.json"), profile.join("mcp.json")]);
}

#[cfg(unix)]
#[test]
fn files_that_cannot_be_read_are_found() {
    let folder = tempfile::tempdir().expect("a directory");
    let home: PathBuf = folder.path().to_owned();
    let code = home.join(".config/Code/User");
    std::fs::create_dir_all(code.join("profiles")).expect("directories");
    std::fs::create_dir_all(home.join(".config/VSCodium/User")).expect("directories");
    std::fs::write(code.join("profiles/notes"), "not a profile").expect("a file");
    std::fs::write(home.join(".config/VSCodium/User/profiles"), "not a directory").expect("a file");
    std::fs::write(home.join(".gemini"), "not a directory").expect("a file");
    std::os::unix::fs::symlink(".cursor", home.join(".cursor")).expect("a link to itself");
    let places = Places {
        xdg_config: home.join(".config"),
        project: home.join("missing"),
        home: home.clone(),
        ..places(Platform::Linux)
    };
    let found: Vec<PathBuf> =
        Client::ALL.iter().flat_map(|client| client.files(&places)).map(|file| file.path).collect();
    let expect = [".cursor/mcp.json", ".config/VSCodium/User/profiles/*/mcp.json", ".gemini/settings.json"];
    assert_eq!(found, expect.map(|path| home.join(path)));
    for path in found {
        let error = portion_install::file::Snapshot::read(&path).expect_err("not a file").to_string();
        assert!(error.starts_with(&format!("cannot read {}: ", path.display())), "{error}");
    }
}
