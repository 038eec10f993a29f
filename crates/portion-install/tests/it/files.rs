//! Files on disk: backups, permissions, links, errors.

use std::fs;
use std::path::{Path, PathBuf};

use portion_install::client::{Client, ConfigFile};
use portion_install::file::{FileError, State};
use portion_install::format::Format;
use portion_install::plan::{Action, Plan, PlanError};
use tempfile::TempDir;

use super::STDIO;

const TEXT: &str = "{\"mcpServers\": {\"a\": {\"command\": \"x\"}, \"b\": {\"command\": \"y\"}}}\n";

struct Machine {
    folder: TempDir,
    state: State,
}

impl Machine {
    fn new() -> Self {
        let folder = tempfile::tempdir().expect("a directory");
        let state = State(folder.path().join("state"));
        Self { folder, state }
    }

    fn file(&self, name: &str, content: impl AsRef<[u8]>) -> PathBuf {
        let path = self.folder.path().join(name);
        fs::write(&path, content).expect("written");
        path
    }

    fn plan(&self, files: &[&Path], action: Action<'_>) -> Result<Plan, PlanError> {
        self.plan_of(files, action, &|_| true)
    }

    fn plan_of(
        &self,
        files: &[&Path],
        action: Action<'_>,
        select: &dyn Fn(&str) -> bool,
    ) -> Result<Plan, PlanError> {
        let client = Client::Cursor;
        let file = |path: &&Path| ConfigFile {
            client: Some(client),
            path: path.to_path_buf(),
            is_project: false,
            format: client.format(),
        };
        Plan::new(files.iter().map(file).collect(), action, &self.state, select)
    }

    fn apply(&self, file: &Path, action: Action<'_>) {
        self.plan(&[file], action).expect("a plan").apply(&self.state).expect("applied");
    }

    /// Returns the names of all files beside the state.
    fn names(&self) -> Vec<String> {
        let entries = fs::read_dir(self.folder.path()).expect("a directory").flatten();
        let names = entries.map(|entry| entry.file_name().to_string_lossy().into_owned());
        let mut names: Vec<String> = names.filter(|name| name != "state").collect();
        names.sort();
        names
    }
}

#[test]
fn a_file_is_edited_and_restored() {
    let machine = Machine::new();
    let file = machine.file("mcp.json", TEXT);
    machine.apply(&file, Action::Install(STDIO));
    let installed = fs::read_to_string(&file).expect("text");
    assert!(installed.contains("--server=a") && installed.contains("--server=b"));
    assert!(!machine.plan(&[&file], Action::Install(STDIO)).expect("a plan").has_edits());
    assert_eq!(machine.state.records()[0].servers, ["a", "b"]);
    machine.apply(&file, Action::Uninstall);
    assert_eq!(fs::read_to_string(&file).expect("text"), TEXT);
    assert!(machine.state.records().is_empty());
    assert_eq!(machine.names(), ["mcp.json"], "no file is left behind");
}

#[test]
fn an_unchanged_file_gets_the_bytes_of_its_backup() {
    let machine = Machine::new();
    // Spaces and this name of the transport are restored from the backup alone.
    let text =
        r#"{"mcpServers": {"a": {"type": "streamable-http", "url": "https://x", "headers":{"A":"b"}}}}"#;
    let file = machine.file("mcp.json", text);
    machine.apply(&file, Action::Install(super::HTTP));
    machine.apply(&file, Action::Uninstall);
    assert_eq!(fs::read_to_string(&file).expect("text"), text);
}

#[test]
fn a_preview_shows_no_value_of_a_variable_or_header() {
    let machine = Machine::new();
    let text = r#"{"mcpServers": {
  "a": {"command": "x", "args": ["1"], "env": {"KEY": "sk-123", "PIN": "1", "OTHER": "${REF}"}},
  "b": {"url": "https://x", "headers": {"Authorization": "Bearer sk-456"}}
}}"#;
    let file = machine.file("mcp.json", text);
    let plan = machine.plan_of(&[&file], Action::Install(super::HTTP), &|_| true).expect("a plan");
    let shown = plan.files[0].diff(|text| text.replace("mcpServers", "…"));
    assert!(!shown.contains("sk-") && !shown.contains("mcpServers"), "{shown}");
    assert!(shown.contains(r#"["1"]"#) && shown.contains(r#""PIN": "…""#), "{shown}");
    assert!(shown.contains(r#""KEY": "…""#) && shown.contains("${REF}"), "{shown}");
    assert!(shown.contains(r#"+  "b": {"command""#) && shown.contains("MCP_HEADER_AUTHORIZATION"), "{shown}");
    machine.apply(&file, Action::Install(super::HTTP));
    let written = fs::read_to_string(&file).expect("text");
    assert!(written.contains(r#""MCP_HEADER_AUTHORIZATION": "Bearer sk-456""#), "{written}");
}

#[test]
fn a_file_of_a_project_names_portion_without_a_path() {
    let machine = Machine::new();
    let path = machine.file(".mcp.json", r#"{"mcpServers": {"a": {"command": "x"}}}"#);
    let file = ConfigFile { client: None, path: path.clone(), is_project: true, format: Format::MCP_SERVERS };
    let plan = Plan::new(vec![file], Action::Install(STDIO), &machine.state, &|_| true).expect("a plan");
    plan.apply(&machine.state).expect("applied");
    let text = fs::read_to_string(&path).expect("text");
    assert!(text.contains(r#""command": "portion""#), "{text}");
}

#[test]
fn a_changed_file_keeps_its_changes() {
    let machine = Machine::new();
    let file = machine.file("mcp.json", TEXT);
    machine.apply(&file, Action::Install(STDIO));
    let changed = fs::read_to_string(&file).expect("text").replace("}}}\n", "}}, \"mine\": true}\n");
    fs::write(&file, changed).expect("written");
    machine.apply(&file, Action::Uninstall);
    assert_eq!(fs::read_to_string(&file).expect("text"), TEXT.replace("}}}\n", "}}, \"mine\": true}\n"));
}

#[test]
fn one_server_can_be_restored_before_the_others() {
    let machine = Machine::new();
    let file = machine.file("mcp.json", TEXT);
    machine.apply(&file, Action::Install(STDIO));
    let one = machine.plan_of(&[&file], Action::Uninstall, &|name| name == "a").expect("a plan");
    one.apply(&machine.state).expect("applied");
    let text = fs::read_to_string(&file).expect("text");
    assert!(text.contains("\"a\": {\"command\": \"x\"}") && text.contains("--server=b"), "{text}");
    machine.apply(&file, Action::Uninstall);
    assert_eq!(fs::read_to_string(&file).expect("text"), TEXT);
}

/// An entry that starts another Portion.
const OTHER: &str = r#"{"command": "/x/portion", "args": ["wrap", "--server", "b", "--", "y", "z"]}"#;

#[test]
fn another_portion_is_given_back() {
    let machine = Machine::new();
    let text = TEXT.replace(r#"{"command": "y"}"#, OTHER);
    let file = machine.file("mcp.json", &text);
    machine.apply(&file, Action::Install(STDIO));
    let installed = fs::read_to_string(&file).expect("text");
    assert!(installed.contains("--server=a") && !installed.contains("/x/portion"), "{installed}");
    let plan = machine.plan(&[&file], Action::Uninstall).expect("a plan");
    assert_eq!(plan.files[0].changes[1].after, ["/x/portion", "wrap", "--server", "b", "--", "y", "z"]);
    plan.apply(&machine.state).expect("applied");
    assert_eq!(fs::read_to_string(&file).expect("text"), text);
    // No `install` is left to undo.
    machine.apply(&file, Action::Uninstall);
    assert_eq!(
        fs::read_to_string(&file).expect("text"),
        text.replace(OTHER, r#"{"command": "y", "args": ["z"]}"#)
    );
}

#[test]
fn a_server_that_was_restored_alone_stays_without_portion() {
    let machine = Machine::new();
    let text = TEXT.replace(r#"{"command": "y"}"#, OTHER);
    let file = machine.file("mcp.json", &text);
    machine.apply(&file, Action::Install(STDIO));
    let one = machine.plan_of(&[&file], Action::Uninstall, &|name| name == "b").expect("a plan");
    one.apply(&machine.state).expect("applied");
    machine.apply(&file, Action::Uninstall);
    let expect = text.replace(OTHER, r#"{"command": "y", "args": ["z"]}"#);
    assert_eq!(fs::read_to_string(&file).expect("text"), expect);
}

#[test]
fn a_portion_of_an_earlier_install_is_not_given_back() {
    let machine = Machine::new();
    for end in ["", "\n"] {
        let file = machine.file("mcp.json", TEXT);
        let old = portion_install::Target { program: "/old/portion", include_http: false, options: &[] };
        machine.apply(&file, Action::Install(old));
        // A client may write the file again.
        let installed = fs::read_to_string(&file).expect("text");
        fs::write(&file, installed + end).expect("written");
        machine.apply(&file, Action::Install(STDIO));
        machine.apply(&file, Action::Uninstall);
        assert_eq!(fs::read_to_string(&file).expect("text"), format!("{TEXT}{end}"));
    }
}

#[test]
fn nothing_is_written_on_an_error() {
    let machine = Machine::new();
    let good = machine.file("good.json", TEXT);
    let check = |bad: &Path, expect: &str| {
        let files = [good.as_path(), bad];
        let planned = machine.plan(&files, Action::Install(STDIO));
        let error = match planned {
            Ok(plan) => plan.apply(&machine.state).expect_err(expect),
            Err(error) => error,
        };
        let error = error.to_string();
        assert!(error.contains(expect) && error.contains(&bad.display().to_string()), "{error}");
        assert_eq!(fs::read_to_string(&good).expect("text"), TEXT);
    };
    check(&machine.file("bad.json", "{\n\"a\"\n}"), "bad.json:3:1: ");
    check(&machine.file("latin.json", b"{\n\"\xe9\": 1}"), "latin.json:2: not UTF-8");
    check(&machine.folder.path().join("missing.json"), "cannot read");
    check(machine.folder.path(), "is not a file");
    let huge = machine.file("huge.json", "");
    fs::File::options()
        .write(true)
        .open(&huge)
        .and_then(|file| file.set_len(65 << 20))
        .expect("a sparse file");
    check(&huge, "at most 67108864 are read");
    let read_only = machine.file("read-only.json", TEXT);
    let mut permissions = fs::metadata(&read_only).expect("metadata").permissions();
    permissions.set_readonly(true);
    fs::set_permissions(&read_only, permissions).expect("read-only");
    check(&read_only, "is read-only");
    assert!(!machine.names().iter().any(|name| name.contains("portion")), "{:?}", machine.names());
}

#[test]
fn a_file_that_changed_meanwhile_is_left() {
    let machine = Machine::new();
    let (one, two) = (machine.file("one.json", TEXT), machine.file("two.json", TEXT));
    let plan = machine.plan(&[&one, &two], Action::Install(STDIO)).expect("a plan");
    fs::write(&two, "{}").expect("written");
    let error = plan.apply(&machine.state).expect_err("changed");
    assert!(matches!(error, PlanError::File(FileError::Changed { .. })), "{error}");
    assert_eq!(fs::read_to_string(&one).expect("text"), TEXT);
    assert_eq!(fs::read_to_string(&two).expect("text"), "{}");
    assert_eq!(machine.names(), ["one.json", "two.json"]);
}

#[test]
fn empty_files_are_left() {
    let machine = Machine::new();
    for text in ["", " \n", "\u{feff}"] {
        let file = machine.file("empty.json", text);
        assert!(!machine.plan(&[&file], Action::Install(STDIO)).expect("a plan").has_edits());
    }
}

#[cfg(unix)]
#[test]
fn links_and_permissions_stay() {
    use std::os::unix::fs::PermissionsExt as _;
    let machine = Machine::new();
    let file = machine.file("dotfiles.json", TEXT);
    fs::set_permissions(&file, fs::Permissions::from_mode(0o640)).expect("permissions");
    let link = machine.folder.path().join("mcp.json");
    std::os::unix::fs::symlink("dotfiles.json", &link).expect("a link");
    machine.apply(&link, Action::Install(STDIO));
    assert!(link.symlink_metadata().expect("metadata").is_symlink());
    assert!(fs::read_to_string(&file).expect("text").contains("--server=a"));
    assert_eq!(fs::metadata(&file).expect("metadata").permissions().mode() & 0o777, 0o640);
    // Configurations contain secrets, and so do their backups.
    let mut folders = fs::read_dir(&machine.state.0).expect("state").flatten();
    let backups = fs::read_dir(folders.next().expect("a folder").path()).expect("backups").flatten();
    for backup in backups {
        assert_eq!(backup.metadata().expect("metadata").permissions().mode() & 0o077, 0);
    }
    machine.apply(&link, Action::Uninstall);
    assert_eq!(fs::read_to_string(&file).expect("text"), TEXT);
}
