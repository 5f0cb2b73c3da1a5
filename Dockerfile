FROM node:24.21.0-trixie-slim

WORKDIR /app
ENV NODE_ENV=production
COPY package.json package-lock.json ./
# The embedded ClickHouse is 540 MB and for a single machine: containers are given CLICKHOUSE_URL and REDIS_URL.
RUN npm ci --omit=dev --no-audit --no-fund \
 && rm -rf node_modules/chdb node_modules/@chdb node_modules/ffi-rs node_modules/@yuuang node_modules/uws-node-20 \
 && find node_modules/uWebSockets.js -name 'uws_*.node' ! -name "uws_linux_*_$(node -p process.versions.modules).node" -delete \
 && npm cache clean --force
COPY tsconfig.json ./
COPY schemas schemas
COPY pipelines pipelines
COPY src src
RUN node src/ipid.mjs compile \
 && ln -s /app/src/ipid.mjs /usr/local/bin/ipid \
 && mkdir -p /data/archive /data/backups /data/enrich \
 && chown -R node:node /data

USER node
ENV DATA_DIR=/data HOST=0.0.0.0
EXPOSE 8080 8081
STOPSIGNAL SIGTERM
ENTRYPOINT ["ipid"]
CMD ["start"]
