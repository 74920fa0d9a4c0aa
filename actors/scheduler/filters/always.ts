// The filters that every scheduler has, in the order in which they are asked: what a host must be for anybody, and what
// a request itself says of where it may go. Those of a deployment come after them.

import { aggregates } from './aggregates.ts';
import { cells } from './cells.ts';
import { company } from './company.ts';
import type { Filter } from './filter.ts';
import { namedHosts } from './named-hosts.ts';
import { serviceState } from './service-state.ts';

export const ALWAYS: readonly Filter[] = [serviceState, aggregates, cells, namedHosts, company];
