// The standard resource classes, as published by the OpenStack project in os-resource-classes 1.1.0 (Apache-2.0).
// Any other class must be named CUSTOM_<NAME>.

export const STANDARD_RESOURCE_CLASSES: ReadonlySet<string> = new Set([
  'VCPU',
  'MEMORY_MB',
  'DISK_GB',
  'PCI_DEVICE',
  'SRIOV_NET_VF',
  'NUMA_SOCKET',
  'NUMA_CORE',
  'NUMA_THREAD',
  'NUMA_MEMORY_MB',
  'IPV4_ADDRESS',
  'VGPU',
  'VGPU_DISPLAY_HEAD',
  'NET_BW_EGR_KILOBIT_PER_SEC',
  'NET_BW_IGR_KILOBIT_PER_SEC',
  'PCPU',
  'MEM_ENCRYPTION_CONTEXT',
  'FPGA',
  'PGPU',
  'NET_PACKET_RATE_KILOPACKET_PER_SEC',
  'NET_PACKET_RATE_EGR_KILOPACKET_PER_SEC',
  'NET_PACKET_RATE_IGR_KILOPACKET_PER_SEC',
]);

/** Whether a class is a standard one or has the form of a custom one. */
export function isResourceClass(name: string): boolean {
  return STANDARD_RESOURCE_CLASSES.has(name) || /^CUSTOM_[A-Z0-9_]+$/.test(name);
}
