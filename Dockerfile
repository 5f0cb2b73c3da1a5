# Built by src/process/image/build, which tags and labels it, or by docker compose build.
# The digest is that of every platform. A newer one, with corrections of Debian: docker buildx imagetools inspect node:24-trixie-slim
ARG BASE=docker.io/library/node:24.21.0-trixie-slim@sha256:8ec5d7557396cfe32d21c3f9c13072355ceab22b584578ca4bb28af31120cffe

FROM ${BASE} AS build
WORKDIR /app
COPY package.json package-lock.json ./
# Not for containers: the embedded ClickHouse (540 MB; they are given CLICKHOUSE_URL and REDIS_URL), and the engine of Node.js 20.
RUN npm pkg delete devDependencies dependencies.uws-node-20 optionalDependencies.chdb optionalDependencies.ffi-rs \
 && npm install --no-audit --no-fund \
 && find node_modules/uWebSockets.js -name 'uws_*.node' ! -name "uws_linux_*_$(node -p process.versions.modules).node" -delete \
 && npm sbom --sbom-format=cyclonedx --sbom-type=application >sbom.cdx.json
COPY tsconfig.json ./
COPY schemas schemas
COPY pipelines pipelines
COPY src src
RUN node src/ipid.mjs compile

FROM ${BASE}
# Programs that install packages have no use here, and scanners report their faults.
RUN rm -rf /usr/local/lib/node_modules /opt/yarn-* /usr/local/bin/npm /usr/local/bin/npx /usr/local/bin/corepack /usr/local/bin/yarn /usr/local/bin/yarnpkg \
 && ln -s /app/src/ipid.mjs /usr/local/bin/ipid \
 && mkdir -p /data/archive /data/backups /data/enrich \
 && chown -R node:node /data
COPY --from=build /app /app

WORKDIR /app
USER node
ENV NODE_ENV=production DATA_DIR=/data HOST=0.0.0.0
EXPOSE 8080 8081
STOPSIGNAL SIGTERM
# Every process of the container is ready and answers. The start reads databases first.
HEALTHCHECK --interval=10s --timeout=8s --retries=3 --start-period=60s CMD node src/process/image/health.mjs "${ADMIN_PORT:-9090}"
ENTRYPOINT ["ipid"]
CMD ["start"]

# Last, because they differ from build to build.
ARG BASE
ARG VERSION
ARG REVISION
LABEL org.opencontainers.image.title="ipid" \
      org.opencontainers.image.description="Finds the organisation behind an IP address and turns visitor events into accounts in ClickHouse" \
      org.opencontainers.image.version="${VERSION}" \
      org.opencontainers.image.revision="${REVISION}" \
      org.opencontainers.image.base.name="${BASE}"
