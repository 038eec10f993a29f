class Portion < Formula
  desc "Gateway that keeps MCP results inside a token budget"
  homepage "@homepage@"
  url "@url@"
  sha256 "@sha256@"
  license any_of: ["MIT", "Apache-2.0"]

  depends_on "rust" => :build

  def install
    system "cargo", "install", *std_cargo_args(path: "crates/portion"), "--profile", "dist"
    generate_completions_from_executable(bin/"portion", "completions")
    system bin/"portion", "man", "--dir", man1
  end

  test do
    assert_match version.to_s, shell_output("#{bin}/portion --version")
    (testpath/"small.json").write "[1, 2]"
    assert_equal "[1, 2]", shell_output("#{bin}/portion shape small.json").strip
  end
end
