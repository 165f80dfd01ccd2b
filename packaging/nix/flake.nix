{
  description = "{{.Summary}}";

  inputs.nixpkgs.url = "github:NixOS/nixpkgs/nixos-unstable";

  outputs = { self, nixpkgs }:
    let
      version = "{{.Version}}";
      archives = {
        x86_64-linux = { url = "{{archive "linux" "amd64" | url}}"; sha256 = "{{archive "linux" "amd64" | sha256}}"; };
        aarch64-linux = { url = "{{archive "linux" "arm64" | url}}"; sha256 = "{{archive "linux" "arm64" | sha256}}"; };
        x86_64-darwin = { url = "{{archive "darwin" "amd64" | url}}"; sha256 = "{{archive "darwin" "amd64" | sha256}}"; };
        aarch64-darwin = { url = "{{archive "darwin" "arm64" | url}}"; sha256 = "{{archive "darwin" "arm64" | sha256}}"; };
      };
      loci = system:
        let pkgs = nixpkgs.legacyPackages.${system};
        in pkgs.stdenvNoCC.mkDerivation {
          pname = "loci";
          inherit version;
          src = pkgs.fetchurl archives.${system};
          dontStrip = true; # the bytes are those of the release
          installPhase = ''
            install -Dm755 loci $out/bin/loci
            install -Dm644 LICENSE NOTICE -t $out/share/licenses/loci
            cp -r share/man share/bash-completion share/zsh share/fish $out/share/
          '';
          meta = {
            description = "{{.Summary}}";
            homepage = "{{.Homepage}}";
            license = pkgs.lib.licenses.asl20;
            mainProgram = "loci";
            platforms = builtins.attrNames archives;
            sourceProvenance = [ pkgs.lib.sourceTypes.binaryNativeCode ];
          };
        };
    in {
      packages = builtins.mapAttrs (system: _: { default = loci system; }) archives;
      apps = builtins.mapAttrs (system: _: {
        default = { type = "app"; program = "${loci system}/bin/loci"; };
      }) archives;
    };
}
