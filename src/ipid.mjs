#!/usr/bin/env node
import { importSource, importUncompiled } from './bootstrap/program.mjs'

const args = process.argv.slice(2)
// A module of roles that is not ours (`ipid role MODULE`) shares modules of src with us.
const isOurs = args[0] !== 'role' || args.length === 1
const { main } = await (isOurs ? importSource : importUncompiled)('main.ts')
await main(args)
