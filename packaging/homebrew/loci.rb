class Loci < Formula
  desc "{{.Summary}}"
  homepage "{{.Homepage}}"
  version "{{.Version}}"
  license "Apache-2.0"

  on_macos do
    on_arm do
      url "{{archive "darwin" "arm64" | url}}"
      sha256 "{{archive "darwin" "arm64" | sha256}}"
    end
    on_intel do
      url "{{archive "darwin" "amd64" | url}}"
      sha256 "{{archive "darwin" "amd64" | sha256}}"
    end
  end

  on_linux do
    on_arm do
      url "{{archive "linux" "arm64" | url}}"
      sha256 "{{archive "linux" "arm64" | sha256}}"
    end
    on_intel do
      url "{{archive "linux" "amd64" | url}}"
      sha256 "{{archive "linux" "amd64" | sha256}}"
    end
  end

  def install
    bin.install "loci"
    man1.install "share/man/man1/loci.1"
    bash_completion.install "share/bash-completion/completions/loci"
    zsh_completion.install "share/zsh/site-functions/_loci"
    fish_completion.install "share/fish/vendor_completions.d/loci.fish"
  end

  service do
    run [opt_bin/"loci", "serve"]
    keep_alive true
  end

  test do
    assert_match version.to_s, shell_output("#{bin}/loci version")
  end
end
