"""The package for ament_python (colcon) and for plain pip: one source, one list of files."""

import xml.etree.ElementTree as ElementTree
from glob import glob
from pathlib import Path

from setuptools import find_packages, setup

PACKAGE = 'dyn_nodes'
MANIFEST = ElementTree.parse(Path(__file__).resolve().parent / 'package.xml').getroot()
NODES = (
    'dynamics_node',
    'hydraulic_actuator_node',
    'electric_actuator_node',
    'controller_node',
    'vehicle_controller_node',
    'cartesian_controller_node',
    'platform_controller_node',
    'recorder_node',
    'composition_node',
    'viewer_node',
    'teleop_node',
    'stability_monitor_node',
    'tip_over_governor_node',
    'object_node',
    'team_controller_node',
    'can_bridge_node',
)

setup(
    name=PACKAGE,
    version=MANIFEST.findtext('version'),
    packages=find_packages(include=[PACKAGE, f'{PACKAGE}.*', 'roslite', 'roslite.*']),
    data_files=[
        ('share/ament_index/resource_index/packages', [f'resource/{PACKAGE}']),
        (f'share/{PACKAGE}', ['package.xml']),
        (f'share/{PACKAGE}/launch', glob('launch/*launch.[pxy][yma]*')),
        (f'share/{PACKAGE}/urdf', glob('urdf/*.urdf') + glob('urdf/*.xacro')),
        (f'share/{PACKAGE}/config', glob('config/*.*')),
        (f'share/{PACKAGE}/config/can', glob('config/can/*.*')),
        (f'share/{PACKAGE}/config/plans', glob('config/plans/*.yaml')),
        (f'share/{PACKAGE}/config/poses', glob('config/poses/*.yaml')),
        (f'share/{PACKAGE}/config/tasks', glob('config/tasks/*.yaml')),
        (f'share/{PACKAGE}/config/sweeps', glob('config/sweeps/*.yaml')),
        (f'share/{PACKAGE}/config/omni', glob('config/omni/*.yaml')),
        (f'share/{PACKAGE}/config/moveit/agv_mecanum_arm', glob('config/moveit/agv_mecanum_arm/*.*')),
        (f'share/{PACKAGE}/config/objects', glob('config/objects/*.yaml')),
        (f'share/{PACKAGE}/config/teams', glob('config/teams/*.yaml')),
        (f'share/{PACKAGE}/config/sheets', glob('config/sheets/*.yaml')),
    ],
    package_data={PACKAGE: ['**/*.html', '**/*.yaml', 'py.typed'], 'roslite': ['README.md', 'py.typed']},
    zip_safe=False,
    python_requires='>=3.10',
    install_requires=[
        # the least versions are those of test/oldest.txt, with which `make test-oldest` runs the tests
        'numpy>=1.22.4',
        'scipy>=1.8.0',
        'casadi>=3.6.5',
        'numba>=0.59.0',
        # meshes: where the shapes of links reach; pycollada reads .dae
        'trimesh>=4.6.0',
        'pycollada>=0.8',
        # the oldest of which no parser opens external entities by default
        'lxml>=6.1.0',
        'PyYAML>=6.0',
        'cyclonedds>=11.0.1',
        'rosbags>=0.11.0',
        'lz4>=4.3.3',
        'backports.zstd>=1.0.0; python_version < "3.14"',
        'rich>=13.7.1',
    ],
    extras_require={
        # the cockpit in the browser, recorded runs in it
        'viewer': ['viser>=1.1.0', 'yourdfpy>=0.0.56'],
        # figures: reports, `--plot`, `run.plot`
        'plots': ['matplotlib>=3.5.1'],
        # both: `make demo`
        'full': ['dyn_nodes[viewer,plots]'],
        'dev': [
            'dyn_nodes[full]',
            'pytest>=7',
            'pytest-timeout',
            'pytest-xdist>=3.7',
            'hypothesis>=6',
            'ruff>=0.6',
            'mypy>=1.8',
            'types-PyYAML',
            'pin',
            'mujoco',
            'osqp',
            'quadprog',
            'clarabel>=0.9',
            'scikit-fem>=9',
            'meshio>=5',
            'pyarrow>=14.0.2',
            'distributed>=2023.12',
            'SALib>=1.5',
            'example-robot-data',
            'rtb-data',
            'airo-models',
            'hello-robot-stretch-urdf',
            'dexmate-urdf',
            'mcap',
            'cantools>=39',
            'python-can[serial]>=4.3',
            'asammdf>=7',
            'numexpr>=2.8.5',
            'pandas>=2',
            'xarray>=2023.1',
            'mkdocs>=1.6,<2',
            'mkdocs-material>=9.5,<10',
            'pymdown-extensions',
            'mkdocstrings[python]>=1,<2',
            'ziamath>=0.13',
            'latex2mathml>=3.77',
            'colcon-core',
            'colcon-ros',
            'colcon-python-setup-py',
            'colcon-library-path',
            'catkin-pkg',
        ],
        'bench': ['pin', 'mujoco', 'osqp', 'quadprog', 'clarabel>=0.9'],
        # headers for the code that Pinocchio generates, a peer of one benchmark; it needs g++
        'codegen': ['pin', 'cmeel-cppad', 'cmeel-cppadcodegen', 'cmeel-eigen>=3.4,<4', 'cmeel-urdfdom-headers'],
        # machines on a CAN bus, and its logs, MF4 included
        'can': ['cantools>=39', 'python-can[serial]>=4.3', 'asammdf>=7', 'numexpr>=2.8.5'],
        # earlier name
        'mf4': ['dyn_nodes[can]'],
        # sweeps on this computer, and on a Dask cluster
        'sweep': ['pyarrow>=14.0.2', 'SALib>=1.5'],
        'cluster': ['pyarrow>=14.0.2', 'distributed>=2023.12'],
        # margins, reactions and runs of the library as tables
        'tables': ['pandas>=2', 'xarray>=2023.1'],
        # meshes of deformable objects from files
        'mesh': ['meshio>=5'],
        'test': [
            'dyn_nodes[full]',
            'pytest>=7',
            'pytest-timeout',
            'hypothesis>=6',
            'pytest-xdist>=3.7',
            'mcap',
            'pyarrow>=14.0.2',
            'cantools>=39',
            'python-can[serial]>=4.3',
        ],
        # binaries for CPython 3.10 to 3.14 on Linux, x86-64: rclpy with Fast DDS and the common messages; no tf2_msgs
        'ros': ['dyn_nodes[jazzy]'],
        'jazzy': ['ros-jazzy-rclpy[fastrtps]', 'ros-jazzy-common-interfaces'],
        'kilted': ['ros-kilted-rclpy[fastrtps]', 'ros-kilted-common-interfaces'],
        # `make test-ros`: test_msgs has types of actions
        'test-jazzy': ['dyn_nodes[jazzy,test]', 'ros-jazzy-test-msgs'],
        'test-kilted': ['dyn_nodes[kilted,test]', 'ros-kilted-test-msgs'],
        # mutation tests: `make mutants`
        'mutants': ['cosmic-ray>=8.3,<9', 'coverage>=7', 'pytest>=7', 'pytest-timeout', 'hypothesis>=6', 'mcap'],
    },
    maintainer=MANIFEST.findtext('maintainer'),
    maintainer_email=MANIFEST.find('maintainer').get('email'),
    description=MANIFEST.findtext('description'),
    license=MANIFEST.findtext('license'),
    entry_points={
        'console_scripts': [
            f'dyn-nodes = {PACKAGE}.entry:command',
            *(f'{node} = {PACKAGE}.entry:{node}' for node in NODES),
        ],
    },
)
