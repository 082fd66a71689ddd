# SPDX-License-Identifier: Apache-2.0
# Plain GNU make. `make help` lists the targets; V=1 shows the commands; B=DIR builds elsewhere.

B    ?= build
V    ?= 0
CC   ?= cc
Q    := $(if $(filter 1,$(V)),,@)
say   = $(if $(filter 1,$(V)),,@printf '  %-6s %s\n' '$(1)' '$(2)';)

VERSION := 0.1.0
COMMIT  := $(shell git rev-parse --short HEAD 2>/dev/null || echo unknown)

PKGS      := libuv openssl libconfig liburiparser jansson libmariadb
HAVE_SYSTEMD := $(shell pkg-config --exists libsystemd 2>/dev/null && echo 1)
PKGS      += $(if $(HAVE_SYSTEMD),libsystemd)
# llhttp: Debian 13 has a library; Debian 12 and Ubuntu 24.04 ship its C source inside node-llhttp.
LLHTTP_PKG := $(shell pkg-config --exists libllhttp 2>/dev/null && echo 1)
PKGS       += $(if $(LLHTTP_PKG),libllhttp)
LLHTTP_SRC := $(if $(LLHTTP_PKG),,$(addprefix /usr/share/llhttp/,api.c http.c llhttp.c))
LLHTTP_INC := $(if $(LLHTTP_PKG),,-I/usr/share/include/llhttp)

WARN     := -Wall -Wextra -Wshadow -Wswitch-enum -Wvla -Werror $(if $(findstring clang,$(shell $(CC) --version 2>/dev/null)),,-Wno-format-truncation)
OPT      ?= -O2 -g
CPPFLAGS += -I. -D_GNU_SOURCE -DSLUICE_VERSION='"$(VERSION)"' -DSLUICE_COMMIT='"$(COMMIT)"' \
            $(if $(HAVE_SYSTEMD),-DHAVE_SYSTEMD) $(if $(BREAK),-DSLUICE_BREAK) $(LLHTTP_INC) $(shell pkg-config --cflags $(PKGS) 2>/dev/null)
CFLAGS   += -std=gnu11 $(OPT) $(WARN) -fno-strict-aliasing $(SAN)
LDFLAGS  += $(SAN)
LDLIBS   += $(shell pkg-config --libs $(PKGS) 2>/dev/null) -ldl -lpthread

DIRS     := protocol conf health pool proxy
SRCS     := $(foreach d,$(DIRS),$(wildcard $(d)/*.c))
OBJS     := $(SRCS:%.c=$(B)/obj/%.o)
LLOBJS   := $(LLHTTP_SRC:/usr/share/%.c=$(B)/obj/%.o)
LIBOBJS  := $(filter-out $(B)/obj/proxy/main.o,$(OBJS)) $(LLOBJS)
TESTS    := $(wildcard tests/unit/*/*.c)
TESTBINS := $(TESTS:%.c=$(B)/%)

.PHONY: all
all: $(B)/sluice ## build everything (the default)

$(B)/sluice: $(OBJS) $(LLOBJS)
	$(call say,LINK,$@)$(CC) $(LDFLAGS) -o $@ $^ $(LDLIBS)

# The flags are a prerequisite, so that a change of compiler, sanitizer or commit rebuilds what it touches.
$(B)/flags: FORCE
	$(Q)mkdir -p $(B) && echo '$(CC) $(filter-out -DSLUICE_COMMIT=%,$(CPPFLAGS)) $(CFLAGS)' | cmp -s - $@ || \
	  echo '$(CC) $(filter-out -DSLUICE_COMMIT=%,$(CPPFLAGS)) $(CFLAGS)' > $@
# The commit is a prerequisite of what prints it alone, so that committing does not rebuild everything.
$(B)/commit: FORCE
	$(Q)mkdir -p $(B) && echo '$(COMMIT)' | cmp -s - $@ || echo '$(COMMIT)' > $@
$(B)/obj/conf/cli.o $(B)/obj/proxy/report.o: $(B)/commit
.PHONY: FORCE
FORCE:

$(B)/obj/llhttp/%.o: /usr/share/llhttp/%.c $(B)/flags
	@mkdir -p $(@D)
	$(call say,CC,$<)$(CC) $(CPPFLAGS) -O2 -g $(SAN) -w -c -o $@ $<

$(B)/obj/%.o: %.c $(B)/flags
	@mkdir -p $(@D)
	$(call say,CC,$<)$(CC) $(CPPFLAGS) $(CFLAGS) -MMD -MP -c -o $@ $<

$(B)/tests/unit/%: tests/unit/%.c $(LIBOBJS)
	@mkdir -p $(@D)
	$(call say,TEST,$@)$(CC) $(CPPFLAGS) $(CFLAGS) -MMD -MP -MF $@.d $(LDFLAGS) -o $@ $< $(LIBOBJS) $(LDLIBS) -lcmocka

-include $(OBJS:.o=.d) $(TESTBINS:%=%.d)

.PHONY: unit
unit: $(TESTBINS) ## unit tests (no server needed)
	$(Q)tests/lib/unit.sh $(B) $(TESTBINS)

# ---- the two commands ----

.PHONY: deps
deps: ## install what is missing (apt, saying what and why)
	$(Q)tests/lib/deps.sh all

.PHONY: run
run: ## set up, build, and run sluice in front of a private MariaDB with a small PHP page (RUN_SECONDS=N ends it)
	$(Q)tests/lib/deps.sh run
	$(Q)$(MAKE) --no-print-directory all
	$(Q)exec tests/lib/run.sh

.PHONY: check
check: ## set up, build, and run all tests; the last line counts them
	$(Q)tests/lib/deps.sh test
	$(Q)B=$(B) tests/lib/check.sh

# ---- sanitizers, fuzzing, benchmarks ----

SANITIZE := -fsanitize=address,undefined -fno-sanitize-recover=undefined -fno-omit-frame-pointer

.PHONY: asan
asan: ## unit and integration tests under AddressSanitizer and UBSan
	$(Q)$(MAKE) --no-print-directory B=$(B)/asan OPT='-O1 -g' SAN='$(SANITIZE)' all unit
	$(Q)SLUICE=$(CURDIR)/$(B)/asan/sluice tests/integration/run.py $(TESTARGS)

.PHONY: tsan
tsan: ## unit tests and a short integration run under ThreadSanitizer (the thread pool)
	$(Q)$(MAKE) --no-print-directory B=$(B)/tsan OPT='-O1 -g' SAN='-fsanitize=thread' all unit
	$(Q)SLUICE=$(CURDIR)/$(B)/tsan/sluice tests/integration/run.py -k login $(TESTARGS)

.PHONY: break
break: ## a build that can break one of its rules, for tests/oracle/prove.py (pool/breaks.h)
	$(Q)$(MAKE) --no-print-directory B=$(B)/break BREAK=1 all

T       ?= 60
FUZZERS := packet handshake reply sql sql_simple sql_digest config http
.PHONY: fuzz
fuzz: ## run each fuzz target for T seconds
	$(Q)B=$(B) T=$(T) tests/fuzz/run.sh $(FUZZERS)

BENCHBINS := $(B)/bench/driver $(B)/bench/forwarder
$(B)/bench/%: bench/%.c $(B)/flags
	@mkdir -p $(@D)
	$(call say,CC,$@)$(CC) $(CFLAGS) -D_GNU_SOURCE $(shell pkg-config --cflags libmariadb) $(LDFLAGS) -o $@ $< \
	  $(shell pkg-config --libs libmariadb) -lpthread
.PHONY: bench
bench: all $(BENCHBINS) ## measure against direct, a bare forwarder and HAProxy (BENCH="--quick --only point8 --save")
	$(Q)B=$(B) bench/run.py $(BENCH)

.PHONY: coverage
coverage: ## line coverage of the unit tests, by folder
	$(Q)$(MAKE) --no-print-directory B=$(B)/cov CC=gcc OPT='-O0 -g' SAN='--coverage' unit
	$(Q)tests/lib/coverage.sh $(B)/cov $(DIRS)

# ---- form ----

CFILES  = $(shell git ls-files '*.c' '*.h' '*.def' 2>/dev/null)
FORMATTED = $(filter %.c %.h,$(CFILES))
SCRIPTS = $(shell git ls-files '*.sh' .ci/run 2>/dev/null)

.PHONY: fmt
fmt: ## format the C files in place
	$(Q)clang-format -i $(FORMATTED)

.PHONY: fmt-check
fmt-check: ## are they formatted?
	$(Q)clang-format --dry-run -Werror $(FORMATTED)

.PHONY: layers
layers: ## do the folders include downwards only?
	$(Q)tests/layers.sh

.PHONY: docs-check
docs-check: ## are all options and metrics documented?
	$(Q)tests/docs.sh

.PHONY: lint
# cppcheck takes the buffer that vsnprintf writes for one that it reads (ctuuninitvar).
# clang-tidy sees one file at a time: given many, version 14 reports a va_list that is not there.
lint: layers docs-check fmt-check ## clang-tidy, cppcheck, shellcheck and the above
	$(Q)set -e; for f in $(SRCS); do clang-tidy --quiet $$f -- $(CPPFLAGS) -std=gnu11 2>/dev/null; done
	$(Q)cppcheck --quiet --std=c11 --enable=warning,performance,portability --error-exitcode=1 --inline-suppr \
	  --suppress=missingInclude --suppress=ctuuninitvar --suppress=normalCheckLevelMaxBranches -I. -D_GNU_SOURCE $(SRCS)
	$(Q)shellcheck $(SCRIPTS)

# ---- the rest ----

PREFIX ?= /usr/local
.PHONY: install
install: all ## install into $(DESTDIR)$(PREFIX)
	install -D -m 755 $(B)/sluice $(DESTDIR)$(PREFIX)/bin/sluice
	install -D -m 644 conf/sluice.cfg $(DESTDIR)$(PREFIX)/share/sluice/sluice.cfg

.PHONY: clean
clean: ## remove what was built (build/sid, the MySQL 9 tree, stays)
	$(Q)[ ! -d $(B) ] || find $(B) -mindepth 1 -maxdepth 1 ! -name sid -exec rm -rf {} +

.PHONY: help
help: ## this list
	@sed -n 's/^\([a-z-]*\):.*## \(.*\)/  \1\t\2/p' $(MAKEFILE_LIST) | expand -t 16
