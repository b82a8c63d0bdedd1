# For Homebrew: `packaging/build source` writes the version and the checksum into dist/crawler.rb.
class Crawler < Formula
  desc "Polite web crawler with a built-in URL-seen filter"
  homepage "https://crates.io/crates/crawler-cli"
  url "https://static.crates.io/crates/crawler-cli/crawler-cli-VERSION.crate"
  sha256 "SHA256"
  license any_of: ["MIT", "Apache-2.0"]

  depends_on "rust" => :build

  def install
    system "cargo", "install", "--profile", "dist", "--features", "jemalloc", *std_cargo_args
    mkdir "man" do
      system bin/"crawler", "man", "--output", "."
      man1.install Dir["*.1"]
    end
    generate_completions_from_executable(bin/"crawler", "completions")
  end

  test do
    system bin/"crawler", "http://www.simulated.test/", "--scope", "any", "--simulate", "--quiet"
    assert_predicate testpath/"crawl/report.json", :exist?
  end
end
