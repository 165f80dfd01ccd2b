# Loci: `make` lists what there is to do.

GO      ?= go
VERSION ?= $(shell git describe --tags --always --dirty 2>/dev/null || echo dev)
LDFLAGS := -s -w -X main.version=$(VERSION)

# The program is pure Go, and everything that builds it builds the same packages once.
export CGO_ENABLED := 0

# Without a C compiler the tests run without the race detector.
RACE := $(shell GO=$(GO) tests/race.sh)
RACED = $(if $(RACE),CGO_ENABLED=1) $(TEST) $(RACE)

RANDOM_MUTANTS ?= 200
RANDOM_SEED ?= 1

# Packages that are tested at once. Suites: those of databases wait for their servers.
AT_ONCE := $(shell tests/atonce.sh)
SUITES := $(if $(filter 1,$(AT_ONCE)),1,3)

# vet has looked at everything before the first test.
TEST := $(GO) test -vet=off -timeout 15m -p $(AT_ONCE)

# What uses neither goroutines nor locks has nothing to race.
STILL = $(shell tests/still.sh)

# The contract takes the tests' server, which is written in Python, many minutes.
MONGODB_SHORT := TestStore/cases/(one_of|both_handles_read|a_change_that_conflicts|what_was_decided|bytes_of|an_erased_tenant)|Test(Equals|LostAnswers|Users|Commands|Databases|Changes|Queries|IDs|Migrate|Indexes)

# What keeps its index in PostgreSQL, beside the tests of everything else there.
KEPT := TestStoreInSegments|TestEquals|TestKept

# Where goroutines meet in stores with a long contract. A test that starts some is named here.
RACES := TestStore/cases/(concurrent|one_of|writers|readers|deadlines|a_store_closes|both_handles|everyone)|Test(ALoad|AShard|EraseBeside|EraseReaches|FailedJob|LargeChange|Loads|Nobody|SearchesIn|SlowCommits|Waiting)

# One caller asks these for much, one thing after the other: the detector is most of their
# time, and has nothing to see.
LARGE := Test(Sketches|SkippingMakesNoDifference|BytesAreWhatAnIndexTakes|ManyKeysInAnyOrder|QuickSearchOfALargeShard|LargestValueInAnExport|PageOfLargeCheckpointsEndsEarly|LongObjectsAreRefused|ManyUnknownArguments|CopyEqualsItsSource|CopiesThatDiffer|RetrievalQuality|HostileQueries|WorkIsLinear|DigestTimeIsLinear|ThreadsInParts|RunsOfALargeGraph|ExportOfATenantInParts|ExportIsBounded|ThreadsAreErasedInParts|LongThreadsArePrunedInParts|PutBehindALook|PlainTextsAreComparedAsOthers|StemsAreThoseOfSnowball|SketchKernelsAgree|ErrorsOfSketches|ASearchForATimeReadsTheBestTexts)

# What is run whole without it.
WHOLE := ./store/sqlite ./store/postgres ./store/mongo ./cmd ./tests

.DEFAULT_GOAL := help
.PHONY: help run build test test-full test-mongodb-short test-postgres-rest test-postgres-kept test-network torture-network test-embedded test-postgres-long test-postgres-system test-citus test-mongodb torture-mongodb mongodb torture-postgres test-long check bench bench-peers bench-beside bench-images bench-postgres bench-mongodb load distill clients anthropic sdk-python sdk-js adapters conformance oauth openapi schemathesis setup-clients supply notice sbom tokenizer transformer torture powercut flaky mutants mutants-random fuzz generate release release-parts release-test deploy-test docs docs-pictures clean

help: ## List the targets
	@awk -F':.*## ' '/^[a-z-]+:.*## /{printf "  make %-12s %s\n", $$1, $$2}' $(MAKEFILE_LIST)

run: build ## Build, then start the MCP server on standard input and output
	@bin/loci mcp

build: ## Write bin/loci
	@first=; [ -x bin/loci ] || { first=1; echo "Building bin/loci. The first build takes a few minutes." >&2; }; \
	$(GO) build -ldflags '$(LDFLAGS)' -o bin/loci ./cmd/loci && { [ -z "$$first" ] || echo "bin/loci is built." >&2; }

test: build ## Run the tests
	$(GO) vet ./...
	$(RACED) -skip '$(LARGE)' $$($(GO) list ./... | grep -v -e /cmd/ -e /tests/ -e /store/postgres -e /store/mongo -e /store/sqlite | grep -vxF "$$($(GO) list $(STILL))")
	@$(MAKE) --no-print-directory -j$(SUITES) test-full test-mongodb-short test-postgres-rest test-postgres-kept test-network
	$(RACED) -run '$(RACES)' ./store/postgres ./store/sqlite
	$(TEST) ./cmd/... ./tests/... # they start hundreds of processes, which the detector makes ten times as slow

test-full: # what the race detector leaves out or shortens, and what has no race
	$(TEST) $$($(GO) run ./tests/unraced '$(LARGE)' $(WHOLE))
	$(TEST) ./store/sqlite ./store/memory $(STILL)

test-postgres-rest:
	$(TEST) -skip '$(KEPT)' ./store/postgres

test-postgres-kept: # a run of its own, as on a slow machine one run takes longer than a test may
	$(TEST) -run '$(KEPT)' ./store/postgres

test-network: # a module of its own; most of it waits
	cd tests/network && $(GO) vet ./... && $(TEST) -count=1 ./...

test-mongodb-short: # the tests' server takes one processor: the rest is in test-mongodb
	$(TEST) -run '$(MONGODB_SHORT)' ./store/mongo

test-embedded: build ## Run the tests that need no database server
	$(GO) test -timeout 15m $$($(GO) list ./... | grep -v -e /cmd/ -e /tests/ -e /store/postgres -e /store/mongo -e /pgtest -e /mongotest)

test-postgres-system: ## TLS to PostgreSQL, and PgBouncer before it: the system's programs (apt-get installs them)
	tests/pooler/run.sh

test-citus: ## The contract, moves, nodes that come and go and a killed worker on a cluster of three nodes; LOCI_TEST_CITUS: the programs of a PostgreSQL that has Citus
	@[ -x "$(LOCI_TEST_CITUS)/postgres" ] || { echo "Set LOCI_TEST_CITUS to the directory of initdb and postgres where the extension Citus is installed, such as /usr/lib/postgresql/17/bin" >&2; exit 1; }
	$(GO) test -timeout 30m -v -run 'Cluster' ./store/postgres

torture-postgres: ## Kill servers on one PostgreSQL until a million times somebody looked for a record, and the database a hundred times, with controls
	LOCI_LONG=1 $(GO) test -timeout 240m -v -run 'Killed|StormNotices|Crashes' ./store/postgres

torture-network: ## Break the network between Loci and PostgreSQL during every call, in every way and at many moments
	cd tests/network && LOCI_LONG=1 $(GO) test -count=1 -timeout 60m -v ./...

test-postgres-long: test-postgres-system ## PostgreSQL for hours: versions 16 and 18 and the system's, a pooler, kills, crashes, every scenario
	LOCI_TEST_POOLER=1 $(GO) test -timeout 60m -run 'TestStore' ./store/postgres
	LOCI_LONG=1 LOCI_TEST_POSTGRES_VERSION=16 $(GO) test -timeout 60m -run 'TestStore|TestEquals' ./store/postgres
	LOCI_LONG=1 LOCI_TEST_POSTGRES="$$(ls -d /usr/lib/postgresql/*/bin | head -n 1)" $(GO) test -timeout 60m -run 'TestStore|TestEquals' ./store/postgres
	LOCI_LONG=1 $(GO) test -timeout 120m ./store/postgres
	LOCI_TEST_STORES=postgres $(GO) run ./internal/locitest/serve postgres $(GO) test -timeout 120m . ./item ./session ./tree ./checkpoint ./view ./tool ./mcp ./rest ./examples/kind

test-mongodb: ## The whole contract on MongoDB: on LOCI_TEST_MONGODB, or on a server for tests (an hour)
	LOCI_LONG=1 $(GO) test -timeout 120m -skip 'TestStorm' ./store/mongo
	$(GO) test -timeout 15m -run 'TestStorm' ./store/mongo
	LOCI_LONG=1 $(GO) test -timeout 30m -run 'Mongo|TestMoveIsTakenUp' ./cmd/loci
	LOCI_TEST_STORES=mongo $(GO) test -timeout 60m ./tests/isolation
	LOCI_TEST_STORES=mongo $(GO) run ./internal/locitest/serve mongo $(GO) test -timeout 60m ./item ./session ./tree ./checkpoint ./view ./examples/kind

torture-mongodb: ## Kill servers on one MongoDB until 100,000 writes were looked for, with its control (hours on a server for tests)
	LOCI_LONG=1 $(GO) test -timeout 240m -v -run 'TestStorm' ./store/mongo

mongodb: ## Start a server that speaks as MongoDB, for you; Ctrl-C ends it
	@$(GO) run ./internal/locitest/serve mongo

test-long: ## Everything CI runs short, at its full length
	LOCI_LONG=1 $(if $(RACE),CGO_ENABLED=1) $(GO) test $(RACE) -timeout 120m ./...
	tests/torture/run.sh long

check: ## Lint
	$(GO) run github.com/golangci/golangci-lint/v2/cmd/golangci-lint@v2.15.0 run ./...
	@for dir in adapters/*/ tools/checks tools/peers tools/release tests/deploy tests/network; do (cd "$$dir" && $(GO) run github.com/golangci/golangci-lint/v2/cmd/golangci-lint@v2.15.0 run ./...) || exit 1; done

bench-peers: ## Ask Loci, FTS5, chromem-go, sqlite-vec, hnswlib, tantivy and LanceDB the same, in one run (600 MB)
	tools/peers/run.sh

bench-beside: ## Ask Loci and the memories of others what a dataset asks: make bench-beside ARGS="--data bench/testdata/diary --by-tools"
	tools/beside/run.sh $(ARGS)

bench-images: ## Measure the first search of a server on PostgreSQL and MongoDB, with what others keep of the index and without (LOCI_LONG=1: ten times as many notes, too)
	$(GO) test -run '^$$' -bench 'FirstSearch' -benchtime 3x -timeout 60m ./store/postgres ./store/mongo

bench-postgres: ## Measure PostgreSQL beside SQLite and beside the same rows by hand, in one run
	$(GO) test -run '^$$' -bench 'Save|^Benchmark(Search|Warm)' -benchtime 2s ./store/postgres

bench-mongodb: ## Measure MongoDB beside PostgreSQL and SQLite, in one run
	$(GO) test -run '^$$' -bench Beside -benchtime 2s ./store/mongo

distill: ## Make the built-in model again and compare it (half an hour; Python)
	tools/distill/run.sh

bench: build ## Measure against raw SQLite, in one run; prints a table for docs/benchmarks.md
	bin/loci bench --markdown

load: build ## Send more requests than loci serve can answer, and print what becomes of them
	$(GO) run ./tests/load

clients: build ## Drive bin/loci with the official MCP clients for Go, TypeScript and Python
	tests/clients/run.sh

anthropic: ## Let Anthropic's SDKs run their memory tool over loci serve
	tests/anthropic/run.sh

sdk-python: ## Test the Python client against bin/loci, with the frameworks it adapts to
	tests/sdk/python/run.sh

sdk-js: ## Test the JavaScript client against bin/loci, with the frameworks it adapts to
	tests/sdk/js/run.sh

adapters: ## Test the adapters for Go frameworks, each a module of its own
	@for dir in adapters/*/; do (cd "$$dir" && echo "$$dir" && $(GO) vet ./... && $(GO) test ./...) || exit 1; done

conformance: ## Run the official MCP conformance suite
	tests/conformance/run.sh

oauth: ## Let the official TypeScript, Python and Go SDKs get tokens from a real provider (a minute: keys are rotated)
	tests/oauth/run.sh

setup-clients: ## Connect the real Claude Code and Codex by loci setup (640 MB)
	tests/setup/run.sh

openapi: ## Check what the HTTP interface says of itself with a validator of others
	tests/openapi/run.sh

schemathesis: ## Let Schemathesis send what the HTTP interface says it takes, and what it does not
	tests/schemathesis/run.sh

supply: ## Look for known vulnerabilities, refused licences and modules that cannot be tidied
	tests/supply/run.sh

notice: ## Write NOTICE: the licences of what is in the program
	cd tools/checks && $(GO) run ./licences -write ../..

sbom: build ## Write bin/loci.cdx.json: what is in bin/loci, for programs (CycloneDX)
	cd tools/checks && $(GO) run github.com/CycloneDX/cyclonedx-gomod/cmd/cyclonedx-gomod bin -json -version '$(VERSION)' -output ../../bin/loci.cdx.json ../../bin/loci
	@cd tools/checks && $(GO) run ./bom ../../bin/loci.cdx.json # by the schema of CycloneDX
	@grep -q '"name": "modernc.org/sqlite"' bin/loci.cdx.json

tokenizer: ## Compare the tokenizer with the reference implementation
	tests/tokenizer/run.sh

transformer: ## Compare the vectors of a sentence transformer with a reference
	tests/transformer/run.sh

torture: ## Kill the server 10,000 times in the middle of writes, and look at 5,000 states after power cuts
	tests/torture/run.sh long

powercut: ## Look at what power cuts may leave, in short (strace)
	tests/torture/run.sh

flaky: ## Run every package ten times, shuffled, on a busy machine
	tests/flaky.sh

mutants: ## Make every fault of tests/mutants/table.txt and see its test fail
	$(GO) run ./tests/mutants

mutants-random: ## Make random faults (RANDOM_MUTANTS of each package, by RANDOM_SEED) and see how many are noticed
	$(GO) run ./tests/mutants -seed $(RANDOM_SEED) -random $(RANDOM_MUTANTS) -with view,tool,mcp .
	$(GO) run ./tests/mutants -seed $(RANDOM_SEED) -random $(RANDOM_MUTANTS) -with mcp,rest tool
	$(GO) run ./tests/mutants -seed $(RANDOM_SEED) -random $(RANDOM_MUTANTS) -with store store/sqlite
	$(GO) run ./tests/mutants -seed $(RANDOM_SEED) -random $(RANDOM_MUTANTS) -with store/memory,. internal/retrieval

fuzz: ## Fuzz every target for a minute
	@$(GO) list ./... | while read -r pkg; do \
	  for target in $$($(GO) test -list '^Fuzz' "$$pkg" | grep '^Fuzz'); do \
	    echo "$$pkg $$target"; $(GO) test -run '^$$' -fuzz "^$$target$$" -fuzztime 60s "$$pkg" || exit 1; \
	  done; done

release: ## Build a release into dist: make release VERSION=1.2.3
	cd tools/release && $(GO) run . -root ../.. -out ../../dist -version '$(VERSION)'

release-parts: ## Test how a release is put together, with small programs
	cd tools/release && $(GO) vet ./... && $(GO) test ./...

deploy-test: ## Test the Helm chart with Helm and Kubernetes' types, the compose file with Compose's (a first run takes minutes)
	cd tests/deploy && $(GO) vet ./... && $(GO) test -count=1 -timeout 15m ./...

release-test: ## Build a release for this machine twice, install it in every way, and use it
	tests/release/run.sh

docs: ## Build the site of docs/ into dist/site, and look for dead links
	tools/site/run.sh

docs-pictures: build ## Make the pictures of the terminal in docs/pictures again
	python3 tools/site/record.py bin/loci docs/pictures

clean: ## Remove what was built
	rm -rf bin dist
